// The overview: what was counted, what waits, and how the last minutes were. What waits is the API's to say; what was counted
// are metrics, which a laptop's host hands over and CloudWatch shows in the cloud.

import { get, local } from './api.js';
import { areaChart, inSlots } from './chart.js';
import { config } from './config.js';
import { fill, h } from './dom.js';
import { counted, duration, number, spaced } from './format.js';
import { every } from './polling.js';
import { link } from './router.js';
import { failed, loading, stale } from './states.js';
import { MINUTES, SLOTS, SLOT_SECONDS, showCounts, showStates } from './tiles.js';

export function showOverview(root, { session, signal }) {
  const trouble = h('div', {});
  const counts = h('ul', { class: config.local ? 'tiles' : 'tiles four', 'aria-label': 'Counts' });
  const lag = h('div', { class: 'stack' });
  const waiting = h('div', {}, loading());
  const table = waitingTable();
  const queues = h('div', {}, loading());
  const cases = h('div', {});
  fill(root,
    h('h1', {}, 'Overview'), trouble,
    counts,
    h('div', { class: 'columns' },
      h('section', { class: 'card' }, h('h2', {}, 'Relay lag'), lag),
      h('section', { class: 'card' }, h('h2', {}, 'Waiting now'), waiting),
      h('section', { class: 'card wide' }, h('h2', {}, config.local ? 'Queues' : 'Rates and queues'), config.local ? queues : dashboard())),
    cases);
  const samples = [];
  every(config.local ? 1000 : 5000, signal, async () => {
    try {
      const [state, pulse] = await Promise.all([
        get(session, '/v1/overview', signal), config.local ? local('GET', 'pulse', undefined, signal) : null,
      ]);
      samples.push(state);
      while (samples.length > 600) samples.shift();
      fill(trouble);
      if (!table.element.isConnected) fill(waiting, table.element);
      table.show(state);
      showLag(lag, state, pulse, samples);
      if (pulse) {
        showCounts(counts, pulse);
        showQueues(queues, pulse.queues);
      } else {
        showStates(counts, samples);
      }
      await showCases(cases, session, state, signal);
    } catch (problem) {
      if (signal.aborted) return;
      // What was shown before stays, and says that it is old; with nothing shown yet, the problem is all there is.
      if (samples.length) fill(trouble, stale(problem));
      else fill(trouble, failed(problem));
      if (!samples.length) for (const part of [waiting, queues]) fill(part);
    }
  });
}

function showLag(root, { outbox }, pulse, samples) {
  const now = Date.now() / 1000;
  const relayed = pulse?.pulse.seconds.filter((second) => second.relay_lag_ms !== undefined) ?? [];
  const data = pulse ? relayed.map((second) => [second.at, second.relay_lag_ms])
    : samples.map((state) => [Date.parse(state.at) / 1000, state.outbox.relay_lag_ms]);
  const points = inSlots(data, { now: pulse?.now ?? now, slots: SLOTS, seconds: SLOT_SECONDS, join: Math.max });
  const last = pulse ? relayed.at(-1)?.relay_lag_ms : outbox.relay_lag_ms;
  const peak = Math.max(...points);
  fill(root,
    h('p', { class: 'figure' }, last === undefined ? '–' : duration(last),
      h('span', { class: 'quiet' }, pulse ? 'last event, from its commit to its last queue'
        : 'age of the oldest unpublished event')),
    areaChart(points, { label: `Relay lag over the last ${MINUTES} minutes, at most ${duration(peak)}`, format: duration,
      span: `${MINUTES} min ago` }));
}

/** What waits, in a table whose rows stay: a link in it keeps the focus while the numbers change. */
function waitingTable() {
  const letters = link(['dead-letters']);
  const rows = [
    ['Events to publish', ({ outbox }) => outbox.pending],
    ['… overdue', ({ outbox }) => outbox.overdue, true],
    ['… claimed by a sweeper', ({ outbox }) => outbox.in_flight],
    ['… failed', ({ outbox }) => outbox.failed, true],
    ['Unfinished sends', ({ sends }) => sends.open],
    ['… stuck', ({ sends }) => sends.stuck, true],
    ['… held for an operator', ({ sends }) => sends.held, true, letters],
    ['Open dead letters', ({ dead_letters }) => dead_letters.open, true, letters],
  ].map(([title, of, alarming, href]) => {
    const cell = h('td', {});
    return { of, alarming, cell, row: h('tr', {}, h('th', { scope: 'row' }, href ? h('a', { href }, title) : title), cell) };
  });
  return {
    element: h('table', { class: 'numbers' }, h('caption', { class: 'visually-hidden' }, 'What is waiting'),
      h('tbody', {}, rows.map(({ row }) => row))),
    show(state) {
      for (const { of, alarming, cell, row } of rows) {
        cell.textContent = counted(of(state));
        row.classList.toggle('alarm', Boolean(alarming) && of(state).count > 0);
      }
    },
  };
}

function showQueues(root, queues) {
  const longest = Math.max(...queues.map((queue) => queue.waiting + queue.in_flight + queue.delayed), 10);
  const part = (value, kind) => {
    const bar = h('span', { class: `bar ${kind}` });
    bar.style.width = `${(value / longest) * 100}%`;
    return bar;
  };
  fill(root,
    h('p', { class: 'legend', 'aria-hidden': 'true' }, ['waiting', 'in flight', 'delayed'].map((kind) =>
      h('span', {}, h('span', { class: `dot ${kind.replace(' ', '-')}` }), kind))),
    h('ul', { class: 'queues' }, queues.map(({ queue, waiting, in_flight, delayed }) =>
      h('li', {},
        h('span', { class: 'queue-name' }, queue),
        h('span', { class: 'bars', 'aria-hidden': 'true' }, part(waiting, 'waiting'), part(in_flight, 'in-flight'), part(delayed, 'delayed')),
        h('span', { class: 'queue-count', 'aria-label': `${waiting} waiting, ${in_flight} in flight, ${delayed} delayed` },
          number(waiting + in_flight + delayed))))));
}

/** Entries that only an operator can help, where there are any. */
async function showCases(root, session, { outbox }, signal) {
  const asked = [['FAILED', outbox.failed], ['OVERDUE', outbox.overdue]].filter(([, { count }]) => count > 0);
  const pages = await Promise.all(asked.map(([status]) => get(session, `/v1/outbox?status=${status}&limit=20`, signal)));
  const entries = pages.flatMap((page) => page.events);
  // Drawn anew only when it changed: its links keep the focus.
  const seen = JSON.stringify(entries);
  if (root.dataset.seen === seen) return root;
  root.dataset.seen = seen;
  if (entries.length === 0) return fill(root);
  return fill(root, h('section', { class: 'card' }, h('h2', {}, 'Events that could not be published'),
    h('ul', { class: 'plain-list' }, entries.map((entry) => h('li', {},
      h('a', { href: link(['events', entry.event_id]) }, spaced(entry.event_type ?? 'Unreadable entry')),
      h('span', { class: 'badge bad' }, entry.status), h('span', { class: 'quiet' }, entry.last_error ?? ''))))));
}

function dashboard() {
  return h('div', { class: 'stack' },
    h('p', {}, 'CloudWatch counts commands, sends and messages, and knows the depth of the queues.'),
    config.dashboard
      ? h('p', {}, h('a', { href: config.dashboard, target: '_blank', rel: 'noopener noreferrer' }, 'Open the dashboard'))
      : h('p', { class: 'quiet' }, 'To show a link here, set dashboard in config.json to the stack’s output DashboardUrl.'));
}
