// What the ways to search find.

import { get, query } from './api.js';
import { fill, h } from './dom.js';
import { ago, moment, pretty, spaced } from './format.js';
import { link } from './router.js';
import { empty, failed, loading } from './states.js';
import { idLink } from './timeline.js';

/** Shows the pages of a list, one after the other. `row` makes a row of each entry. */
function list(root, load, { nothing, row }) {
  const rows = h('ul', { class: 'found' });
  const end = h('div', { class: 'row center' });
  const page = async (cursor) => {
    fill(end, loading());
    try {
      const { entries, next_cursor } = await load(cursor);
      rows.append(...entries.map(row));
      if (!rows.isConnected) fill(root, rows, end);
      if (rows.children.length === 0) fill(root, empty(nothing));
      fill(end, next_cursor && h('button', { type: 'button', class: 'button', onclick: () => page(next_cursor) }, 'Show more'));
    } catch (problem) {
      if (problem.name !== 'AbortError') fill(rows.children.length ? end : root, failed(problem, () => page(cursor)));
    }
  };
  fill(root, end);
  page();
}

export function findByAggregate(root, session, asked, signal) {
  const load = async (cursor) => {
    const { events, next_cursor } = await get(session, `/v1/events${query({ ...asked, cursor })}`, signal);
    return { entries: events, next_cursor };
  };
  list(root, load, {
    nothing: 'No events for this aggregate.',
    row: (event) => h('li', { class: 'found-row' },
      h('a', { class: 'found-title', href: link(['events', event.event_id]) }, spaced(event.event_type)),
      event.version !== null && h('span', { class: 'badge plain' }, `version ${event.version}`),
      event.handed_in && h('span', { class: 'badge plain' }, 'from a source'),
      h('span', { class: 'quiet' }, [event.actor && `by ${event.actor}, `, ago(event.occurred_at)]),
      h('span', { class: 'push' }, idLink(event.event_id))),
  });
}

export function findByUser(root, session, { user_type, user_id }, signal) {
  const load = async (cursor) => {
    const path = `/debug/notification/inbox/${encodeURIComponent(user_id)}${query({ user_type, cursor })}`;
    const { notifications, next_cursor } = await get(session, path, signal);
    return { entries: notifications, next_cursor };
  };
  list(root, load, {
    nothing: `No notifications for ${user_id}.`,
    row: (told) => h('li', { class: 'found-row' },
      h('a', { class: 'found-title', href: link(['events', told.event_id]) }, told.title),
      h('span', { class: 'quiet' }, `${spaced(told.event_type)}, ${ago(told.created_at)}`),
      h('span', { class: 'push sends' }, told.sends.map((send) =>
        h('span', { class: `badge ${sendTone(send.status)}`, title: send.last_error ?? '' }, `${send.channel} ${send.status.toLowerCase()}`)))),
  });
}

function sendTone(status) {
  return { SENT: 'good', FAILED: 'bad', SKIPPED: 'quiet' }[status] ?? 'open';
}

export async function findByKey(root, session, { key, caller }, signal) {
  fill(root, loading());
  try {
    const found = await get(session, `/v1/idempotency-keys/${encodeURIComponent(key)}${query({ caller })}`, signal);
    fill(root, h('div', { class: 'card' },
      h('h2', {}, `Response ${found.status}`),
      h('dl', { class: 'facts' },
        h('div', {}, h('dt', {}, 'Stored'), h('dd', {}, moment(found.created_at))),
        h('div', {}, h('dt', {}, 'Expires'), h('dd', {}, moment(found.expires_at))),
        h('div', {}, h('dt', {}, 'Events'), h('dd', {}, found.event_ids.length
          ? h('ul', { class: 'plain-list' }, found.event_ids.map((id) => h('li', {}, idLink(id))))
          : 'None: the command was refused'))),
      h('pre', { class: 'code' }, pretty(found.body))));
  } catch (problem) {
    if (!signal.aborted) fill(root, failed(problem, () => findByKey(root, session, { key, caller }, signal)));
  }
}
