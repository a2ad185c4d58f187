// One person's inbox, live: what comes through the socket is laid over what the API said, and after every new connection
// the inbox is read again, because a socket misses what happens while it is closed.

import { ask, exchange, get, problemOf, query } from './api.js';
import { fill, h, keyed } from './dom.js';
import { words } from './format.js';
import { keepLive } from './live.js';
import { notificationRow } from './notification.js';
import { notify } from './notices.js';
import { every } from './polling.js';
import { initials } from './session_chip.js';
import { empty, failed, loading } from './states.js';
import { refreshAgo } from './time_ago.js';

const PAGE = 50;
const REREAD_MS = 60_000;
const STATES = { connecting: 'connecting…', live: 'live', away: 'disconnected, reconnecting…' };

export function inboxPanel(root, session, person, { signal, operator }) {
  const list = h('ul', { class: 'notifications', 'aria-live': 'polite', 'aria-label': `Inbox of ${person.name}` });
  const body = h('div', {}, loading());
  const badge = h('span', { class: 'unread-count', hidden: true });
  const state = h('span', { class: 'live-dot connecting' }, STATES.connecting);
  const older = h('div', { class: 'row center', hidden: true },
    h('button', { type: 'button', class: 'button', onclick: () => loadMore() }, 'Show older'));
  const all = h('input', { type: 'checkbox', onchange: () => draw() });
  const rows = new Map();
  const troubles = new Map();
  /** Behind the oldest row that is shown, where there are more. */
  let cursor = null;
  let loaded = false;
  let asked = 0;
  let counted = 0;

  const readAll = async () => {
    const told = [...rows.keys()];
    const key = `console-read-all-${crypto.randomUUID()}`;
    if (!await attempt(() => ask(session, 'POST', '/v1/inbox/read-all', { key, signal }))) return;
    for (const id of told) put({ ...rows.get(id), is_read: true });
    draw();
    await load();
  };
  root.append(h('section', { class: 'card panel', 'aria-label': person.name },
    h('header', { class: 'panel-head' },
      h('span', { class: 'avatar large', 'aria-hidden': 'true' }, initials(person.name)),
      h('div', {}, h('h2', {}, person.name, badge), h('p', { class: 'quiet' }, words(person.user_type ?? ''), ' · ', state)),
      h('div', { class: 'push row' },
        h('label', { class: 'check' }, all, 'Unread only'),
        h('button', { type: 'button', class: 'button', onclick: readAll }, 'Mark all read'))),
    body, older));

  /** Reads a part of the inbox. Its count is of the whole, and of counts the one that was asked for last is right: answers
      overtake each other, and every change asks again. */
  const inbox = async (asking) => {
    const number = asked += 1;
    const page = await get(session, `/v1/inbox${query(asking)}`, signal);
    if (number > counted) {
      counted = number;
      count(page.unread_count);
    }
    return page;
  };
  const load = async () => {
    try {
      const page = await inbox({ limit: PAGE });
      // Where its last row is new too, there may be others behind it that nobody has asked for yet.
      if (!loaded || !rows.has(page.notifications.at(-1)?.notification_id)) cursor = page.next_cursor;
      // What is shown stays: it may have come through the socket, or because somebody asked for older ones.
      for (const row of page.notifications) put(row);
      loaded = true;
      draw();
    } catch (problem) {
      if (!signal.aborted && !loaded) fill(body, failed(problem, load));
    }
  };
  const loadMore = async () => {
    const page = await attempt(() => inbox({ limit: PAGE, cursor }));
    if (!page) return;
    for (const row of page.notifications) put(row);
    cursor = page.next_cursor;
    draw();
  };
  const put = (row) => rows.set(row.notification_id, later(rows.get(row.notification_id), row));
  const count = (unread) => {
    badge.hidden = unread === 0;
    badge.textContent = String(unread);
    badge.setAttribute('aria-label', `${unread} unread`);
  };
  /** The inbox is more than what is shown of it: the count is asked for, not added up. */
  const recount = () => attempt(() => inbox({ limit: 1 }));
  const draw = () => {
    if (!loaded && rows.size === 0) return;
    const sorted = [...rows.values()].sort((a, b) => (a.notification_id < b.notification_id ? 1 : -1));
    const shown = sorted.filter((row) => !all.checked || !row.is_read);
    if (shown.length === 0) fill(body, empty(all.checked ? 'No unread notifications.' : 'No notifications yet.'));
    else if (!list.isConnected) fill(body, list);
    keyed(list, shown.map((row) => ({
      key: row.notification_id, state: [row, troubles.get(row.notification_id)],
      make: () => notificationRow(row, { act, read, operator, trouble: troubles.get(row.notification_id), person }),
    })));
    refreshAgo(list);
    older.hidden = !cursor;
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
    if (problem.handledBy) changed({ ...row, is_read: true, handled_by: problem.handledBy });
    else draw();
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
      if (now === 'live' || (now === 'away' && !loaded)) load();
    },
    onMessage: ({ notification }) => changed(notification),
  });
  // A push is for those who listen right now and is not repeated: what one missed comes with the next reading.
  every(REREAD_MS, signal, async () => { if (loaded) await load(); });
  every(10_000, signal, async () => refreshAgo(list));
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
