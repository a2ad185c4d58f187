// What a page shows while there is nothing to show: it is coming, there is nothing, or something went wrong.

import { h } from './dom.js';

export function loading(text = 'Loading…') {
  return h('p', { class: 'state loading', role: 'status' }, h('span', { class: 'spinner', 'aria-hidden': 'true' }), text);
}

export function empty(title, ...more) {
  return h('div', { class: 'state empty' }, h('p', { class: 'state-title' }, title), more);
}

/** A problem with a way out of it. */
export function failed(problem, retry) {
  const { title, text } = said(problem);
  return h('div', { class: 'state failed', role: 'alert' },
    h('p', { class: 'state-title' }, title),
    h('p', {}, text),
    problem.details?.length > 1 && h('ul', {}, problem.details.map((it) => h('li', {}, `${it.field}: ${it.problem}`))),
    problem.requestId && h('p', { class: 'quiet' }, 'Request id ', h('code', {}, problem.requestId)),
    retry && h('button', { type: 'button', class: 'button', onclick: retry }, 'Try again'));
}

function said(problem) {
  const text = problem.message;
  switch (problem.code) {
    case 'AWAY': return { title: 'No connection', text };
    case 'FORBIDDEN': case '403': return { title: 'Not allowed', text: `${text}. Sign in with a token that allows it.` };
    case 'NOT_FOUND': return { title: 'Not found', text };
    default: return { title: 'Request failed', text };
  }
}

/** Over what was there before: it may be old by now. */
export function stale(problem) {
  return h('p', { class: 'banner bad', role: 'status' }, `${said(problem).title}: ${problem.message} Retrying…`);
}
