// One dead letter, whole: the reason, the message as it was, what happened to it before, and what to do with it.

import { activity } from './activity.js';
import { get } from './api.js';
import { confirmed } from './confirm.js';
import { copyButton } from './copy.js';
import { fill, h } from './dom.js';
import { moment, plural, pretty, shortId, spaced } from './format.js';
import { every } from './polling.js';
import { link } from './router.js';
import { failed, loading, stale } from './states.js';
import { steer } from './steering.js';

export function showDeadLetter(root, { session, id, signal }) {
  const trouble = h('div', {});
  const page = h('div', { class: 'sections' }, loading());
  const log = activity('Activity');
  fill(root, h('p', { class: 'crumbs' }, h('a', { href: '#/dead-letters' }, 'Dead letters')), trouble, page, log.element);
  let seen = null;
  const load = async () => {
    try {
      const letter = await get(session, `/v1/dead-letters/${encodeURIComponent(id)}`, signal);
      fill(trouble);
      if (JSON.stringify(letter) === seen) return;
      seen = JSON.stringify(letter);
      draw(page, letter, async (order) => {
        await steer(session, letter, order, log, signal);
        await load();
      });
    } catch (problem) {
      if (signal.aborted) return;
      if (seen === null) fill(page, failed(problem, load));
      else fill(trouble, stale(problem));
    }
  };
  every(1500, signal, load);
}

function draw(root, letter, steered) {
  const open = letter.status === 'OPEN';
  const fact = (name, value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  fill(root,
    h('section', { class: 'card' },
      h('h1', {}, spaced(letter.event_type ?? 'Unreadable message'), h('span', { class: `badge ${open ? 'bad' : 'quiet'}` }, letter.status)),
      h('p', { class: 'reason' }, letter.reason),
      h('dl', { class: 'facts' },
        fact('Queue', letter.queue), fact('Consumer', letter.consumer), fact('Created', moment(letter.created_at)),
        fact('Received', plural(letter.receive_count, 'time')),
        letter.event_id && fact('Event', h('a', { class: 'mono', href: link(['events', letter.event_id]), title: letter.event_id }, shortId(letter.event_id))),
        letter.handled_by && fact(letter.status === 'DISCARDED' ? 'Discarded by' : 'Redriven by', `${letter.handled_by}, ${moment(letter.handled_at)}`)),
      h('div', { class: 'row' },
        h('button', { type: 'button', class: 'button primary', disabled: !open, onclick: () => steered('redrive') }, 'Redrive'),
        h('button', { type: 'button', class: 'button', disabled: !open, onclick: async () => {
          if (await confirmed('Discard this dead letter?', 'Its effect will not happen. The audit trail keeps who discarded it.', 'Discard', 'danger')) {
            await steered('discard');
          }
        } }, 'Discard'))),
    h('section', { class: 'card' },
      h('h2', {}, 'Message', copyButton(letter.body, 'Copy the message')),
      h('pre', { class: 'code', tabindex: '0', 'aria-label': 'Message body' }, pretty(letter.body)),
      letter.attributes && h('dl', { class: 'facts' }, Object.entries(letter.attributes).map(([name, value]) =>
        fact(name, h('span', { class: 'mono' }, value))))),
    letter.past && h('section', { class: 'card' },
      h('h2', {}, 'Earlier failures'),
      h('ul', { class: 'plain-list' }, letter.past.map((past) =>
        h('li', {}, h('span', { class: 'quiet' }, moment(past.at)), h('span', {}, past.reason))))));
}
