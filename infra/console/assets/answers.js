// Answers of the API as they came: status, whether it was a replay, and the body.

import { h } from './dom.js';
import { moment, pretty } from './format.js';

export function answerCard(title, answer) {
  return h('li', { class: 'answer' },
    h('p', { class: 'answer-head' },
      h('span', { class: `badge ${answer.ok ? 'good' : 'bad'}` }, String(answer.status)),
      answer.replayed && h('span', { class: 'badge open' }, 'replayed'),
      h('span', {}, title),
      h('time', { class: 'push quiet' }, moment(Date.now()))),
    h('pre', { class: 'code', tabindex: '0', 'aria-label': 'Response body' }, pretty(answer.text)),
    answer.requestId && h('p', { class: 'quiet mono' }, `x-request-id: ${answer.requestId}`));
}
