// One person's inbox, live: what comes through the socket is laid over what the API said, and after every new connection
// the inbox is read again, because a socket misses what happens while it is closed.

import { ask, exchange, get, problemOf, query } from './api.js';
import { fill, h, keyed } from './dom.js';
import { ago, words } from './format.js';
import { keepLive } from './live.js';
import { notificationRow } from './notification.js';
import { notify } from './notices.js';
import { every } from './polling.js';
import { initials } from './session_chip.js';
import { empty, failed, loading } from './states.js';

const REREAD_MS = 60_000;
const STATES = { connecting: 'connecting…', live: 'live', away: 'not live, trying again…' };

export function inboxPanel(root, session, person, { signal, operator }) {
  const list = h('ul', { class: 'notifications', 'aria-live': 'polite', 'aria-label': `Inbox of ${person.name}` });
  const body = h('div', {}, loading());
  const badge = h('span', { class: 'unread-count', hidden: true });
  const state = h('span', { class: 'live-dot connecting' }, STATES.connecting);
  const more = h('div', { class: 'row center' });
  const all = h('input', { type: 'checkbox', onchange: () => draw() });
  const rows = new Map();
  const troubles = new Map();
  let cursor = null;
  let olderShown = false;

  const readAll = async () => {
    await attempt(() => ask(session, 'POST', '/v1/inbox/read-all', { key: `console-read-all-${crypto.randomUUID()}`, signal }));
    await load();
  };
  root.append(h('section', { class: 'card panel', 'aria-label': person.name },
    h('header', { class: 'panel-head' },
      h('span', { class: 'avatar large', 'aria-hidden': 'true' }, initials(person.name)),
      h('div', {}, h('h2', {}, person.name, badge), h('p', { class: 'quiet' }, words(person.user_type ?? ''), ' · ', state)),
      h('div', { class: 'push row' },
        h('label', { class: 'check' }, all, 'Unread only'),
        h('button', { type: 'button', class: 'button', onclick: readAll }, 'Mark all read'))),
    body, more));

  const load = async () => {
    try {
      const page = await get(session, `/v1/inbox${query({ limit: 50 })}`, signal);
      const known = new Map(rows);
      rows.clear();
      for (const row of page.notifications) rows.set(row.notification_id, later(known.get(row.notification_id), row));
      // What came through the socket while the page was on its way is newer than all of it.
      const newest = page.notifications[0]?.notification_id ?? '';
      for (const [id, row] of known) if (id > newest) rows.set(id, row);
      count(page.unread_count);
      cursor = page.next_cursor;
      olderShown = false;
      draw();
    } catch (problem) {
      if (!signal.aborted && !list.isConnected) fill(body, failed(problem, load));
    }
  };
  const loadMore = async () => {
    const page = await attempt(() => get(session, `/v1/inbox${query({ limit: 50, cursor })}`, signal));
    if (!page) return;
    for (const row of page.notifications) put(row);
    cursor = page.next_cursor;
    olderShown = true;
    draw();
  };
  const put = (row) => rows.set(row.notification_id, later(rows.get(row.notification_id), row));
  const count = (unread) => {
    badge.hidden = unread === 0;
    badge.textContent = String(unread);
    badge.setAttribute('aria-label', `${unread} unread`);
  };
  /** The count is over the whole inbox, of which this shows a part: it is asked for, not added up. */
  const recount = async () => {
    const page = await attempt(() => get(session, '/v1/inbox?limit=1', signal));
    if (page) count(page.unread_count);
  };
  const draw = () => {
    const sorted = [...rows.values()].sort((a, b) => (a.notification_id < b.notification_id ? 1 : -1));
    const shown = sorted.filter((row) => !all.checked || !row.is_read);
    if (shown.length === 0) fill(body, empty(all.checked ? 'Nothing unread.' : 'Nothing here yet.'));
    else if (!list.isConnected) fill(body, list);
    keyed(list, shown.map((row) => ({
      key: row.notification_id, state: [row, troubles.get(row.notification_id), ago(row.created_at)],
      make: () => notificationRow(row, { act, read, operator, trouble: troubles.get(row.notification_id), person }),
    })));
    fill(more, cursor && h('button', { type: 'button', class: 'button', onclick: loadMore }, 'Show older ones'));
  };
  const changed = (row) => {
    put(row);
    draw();
    recount();
  };
  const read = async (row) => {
    const key = `console-read-${row.notification_id}`;
    const done = await attempt(() => ask(session, 'POST', `/v1/notifications/${row.notification_id}/read`, { key, signal }));
    if (done) changed(done);
  };
  const act = async (row, action_type) => {
    troubles.delete(row.notification_id);
    // One key for each thing that can be done: a second click is a replay.
    const key = `console-${action_type}-${row.notification_id}`;
    const path = `/v1/notifications/${row.notification_id}/actions`;
    const answer = await attempt(() => exchange(session, 'POST', path, { key, body: { action_type }, signal }));
    if (!answer) return;
    if (answer.ok) return changed(answer.json);
    const problem = problemOf(answer);
    troubles.set(row.notification_id, problem.message);
    // Who was first is in the refusal: it need not be waited for.
    if (problem.handledBy) rows.set(row.notification_id, { ...row, is_read: true, handled_by: problem.handledBy });
    draw();
  };
  const attempt = async (work) => {
    try {
      return await work();
    } catch (problem) {
      if (!signal.aborted) notify(problem.message, 'bad');
      return null;
    }
  };
  keepLive(session, signal, {
    onState: (now) => {
      state.className = `live-dot ${now}`;
      state.textContent = STATES[now];
      if (now === 'live' || (now === 'away' && !list.isConnected)) load();
    },
    onMessage: ({ notification }) => changed(notification),
  });
  // A push is for those who listen right now and is not repeated: what one missed comes with the next reading,
  // which would put away the older ones that somebody asked for.
  every(REREAD_MS, signal, async () => { if (list.isConnected && !olderShown) await load(); });
  // “Just now” does not stay true.
  every(10_000, signal, async () => { if (list.isConnected) draw(); });
}

/** Answers and pushes overtake each other. What was read stays read and what was handled stays handled, so whoever says so
    is the later one. */
function later(known, row) {
  if (!known) return row;
  return {
    ...row,
    is_read: row.is_read || known.is_read,
    read_by: row.read_by ?? known.read_by,
    handled_by: row.handled_by ?? known.handled_by,
  };
}
