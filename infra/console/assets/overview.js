// The overview: what was counted, what waits, and how the last minutes were. What waits is the API's to say; what was counted
// are metrics, which a laptop's host hands over and CloudWatch shows in the cloud.

import { get, local } from './api.js';
import { areaChart, inSlots, sparkline } from './chart.js';
import { config } from './config.js';
import { fill, h, keyed } from './dom.js';
import { counted, duration, number, spaced } from './format.js';
import { every } from './polling.js';
import { link } from './router.js';
import { failed, loading, stale } from './states.js';

const MINUTES = 5;
const SLOT_SECONDS = 5;
const SLOTS = (MINUTES * 60) / SLOT_SECONDS;

const COUNTS = [
  ['accepted', 'Accepted', 'took effect'],
  ['replayed', 'Replayed', 'stored answer again'],
  ['relayed', 'Relayed', 'every queue has it'],
  ['sent', 'Sent', 'by a provider'],
  ['failed', 'Failed', 'sends given up'],
  ['dead_letters', 'Dead letters', 'since the start'],
];

export function showOverview(root, { session, signal }) {
  const trouble = h('div', {});
  const counts = h('ul', { class: 'tiles' });
  const lag = h('div', { class: 'stack' });
  const waiting = h('div', {}, loading());
  const queues = h('div', {}, loading());
  const cases = h('div', {});
  fill(root,
    h('h1', {}, 'Overview'), trouble,
    config.local && h('section', { 'aria-label': 'Counts' }, counts),
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
      samples.push([Date.parse(state.at) / 1000, state.outbox.relay_lag_ms]);
      while (samples.length > 1000) samples.shift();
      fill(trouble);
      showWaiting(waiting, state);
      showLag(lag, state, pulse, samples);
      if (pulse) {
        showCounts(counts, pulse);
        showQueues(queues, pulse.queues);
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

function showCounts(list, { now, pulse }) {
  keyed(list, COUNTS.map(([name, title, what]) => {
    const points = inSlots(pulse.seconds.map((second) => [second.at, second[name] ?? 0]),
      { now, slots: SLOTS, seconds: SLOT_SECONDS });
    const total = pulse.totals[name] ?? 0;
    const recent = points.reduce((sum, value) => sum + value, 0);
    const bad = (name === 'failed' || name === 'dead_letters') && total > 0;
    return { key: name, state: [total, points], make: () => h('li', { class: `tile${bad ? ' bad' : ''}` },
      h('p', { class: 'tile-title' }, title),
      h('p', { class: 'tile-number', 'data-count': name }, number(total)),
      sparkline(points, `${title}, last ${MINUTES} minutes: ${recent}`),
      h('p', { class: 'quiet' }, what)) };
  }));
}

function showLag(root, { outbox }, pulse, samples) {
  const now = Date.now() / 1000;
  const relayed = pulse?.pulse.seconds.filter((second) => second.relay_lag_ms !== undefined) ?? [];
  const data = pulse ? relayed.map((second) => [second.at, second.relay_lag_ms]) : samples;
  const points = inSlots(data, { now: pulse?.now ?? now, slots: SLOTS, seconds: SLOT_SECONDS, join: Math.max });
  const last = pulse ? relayed.at(-1)?.relay_lag_ms : outbox.relay_lag_ms;
  const peak = Math.max(...points);
  fill(root,
    h('p', { class: 'figure' }, last === undefined ? '–' : duration(last),
      h('span', { class: 'quiet' }, pulse ? 'of the last event, from its commit to its last queue'
        : 'how long the oldest event has waited')),
    areaChart(points, { label: `Relay lag over the last ${MINUTES} minutes, at most ${duration(peak)}`, format: duration,
      span: `${MINUTES} min ago` }));
}

function showWaiting(root, { outbox, sends, dead_letters }) {
  const row = (title, count, href, alarm) => h('tr', { class: alarm && count.count > 0 ? 'alarm' : null },
    h('th', { scope: 'row' }, href ? h('a', { href }, title) : title), h('td', {}, counted(count)));
  fill(root, h('table', { class: 'numbers' },
    h('caption', { class: 'visually-hidden' }, 'What waits'),
    h('tbody', {},
      row('Events on their way', outbox.pending),
      row('… overdue', outbox.overdue, null, true),
      row('… in a sweeper’s hands', outbox.in_flight),
      row('… given up', outbox.failed, null, true),
      row('Sends under way', sends.open),
      row('… stuck', sends.stuck, null, true),
      row('… held for an operator', sends.held, link(['dead-letters']), true),
      row('Open dead letters', dead_letters.open, link(['dead-letters']), true))));
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
  if (entries.length === 0) return fill(root);
  return fill(root, h('section', { class: 'card' }, h('h2', {}, 'Events that did not get out'),
    h('ul', { class: 'plain-list' }, entries.map((entry) => h('li', {},
      h('a', { href: link(['events', entry.event_id]) }, spaced(entry.event_type ?? 'Unreadable entry')),
      h('span', { class: 'badge bad' }, entry.status), h('span', { class: 'quiet' }, entry.last_error ?? ''))))));
}

function dashboard() {
  return h('div', { class: 'stack' },
    h('p', {}, 'How many commands, sends and messages there were, and how deep the queues are, is in CloudWatch: functions keep no count between them.'),
    config.dashboard
      ? h('p', {}, h('a', { href: config.dashboard, target: '_blank', rel: 'noopener noreferrer' }, 'Open the dashboard'))
      : h('p', { class: 'quiet' }, 'The stack’s output DashboardUrl, as dashboard in config.json, makes a link here.'));
}
