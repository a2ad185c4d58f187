// A number, its name and how it was in the last minutes. On a laptop the numbers are what was counted since the start; in the
// cloud, where only CloudWatch adds up, they are what waits, as far as this page has seen it.

import { inSlots, sparkline } from './chart.js';
import { h, keyed } from './dom.js';
import { counted, number } from './format.js';

export const MINUTES = 5;
export const SLOT_SECONDS = 5;
export const SLOTS = (MINUTES * 60) / SLOT_SECONDS;

const COUNTS = [
  ['accepted', 'Accepted', 'commands that took effect'],
  ['replayed', 'Replayed', 'stored responses'],
  ['relayed', 'Relayed', 'events at every queue'],
  ['sent', 'Sent', 'accepted by a provider'],
  ['failed', 'Failed', 'sends that failed'],
  ['dead_letters', 'Dead letters', 'since the start'],
];

const STATES = [
  ['pending', 'To publish', 'events not published yet', ({ outbox }) => outbox.pending],
  ['open_sends', 'Sending', 'unfinished sends', ({ sends }) => sends.open],
  ['failed', 'Failed', 'events that could not be published', ({ outbox }) => outbox.failed],
  ['dead_letters', 'Dead letters', 'waiting for an operator', ({ dead_letters }) => dead_letters.open],
];

const ALARMING = new Set(['failed', 'dead_letters']);

/** What was counted, of a host's `/local/pulse`. */
export function showCounts(list, { now, pulse }) {
  keyed(list, COUNTS.map(([name, title, what]) => {
    const samples = pulse.seconds.map((second) => [second.at, second[name] ?? 0]);
    const points = inSlots(samples, { now, slots: SLOTS, seconds: SLOT_SECONDS });
    const total = pulse.totals[name] ?? 0;
    return tile(name, title, what, { text: number(total), value: total, points });
  }));
}

/** What waits: `states` are answers of `/v1/overview`, the last one now. */
export function showStates(list, states) {
  const now = Date.now() / 1000;
  keyed(list, STATES.map(([name, title, what, of]) => {
    const samples = states.map((state) => [Date.parse(state.at) / 1000, of(state).count]);
    const points = inSlots(samples, { now, slots: SLOTS, seconds: SLOT_SECONDS, join: Math.max });
    const last = of(states.at(-1));
    return tile(name, title, what, { text: counted(last), value: last.count, points });
  }));
}

function tile(name, title, what, { text, value, points }) {
  const bad = ALARMING.has(name) && value > 0;
  const recent = Math.max(...points);
  return { key: name, state: [text, points], make: () => h('li', { class: `tile${bad ? ' bad' : ''}` },
    h('p', { class: 'tile-title' }, title),
    h('p', { class: 'tile-number', 'data-count': name }, text),
    sparkline(points, `${title}, last ${MINUTES} minutes: at most ${number(recent)} in ${SLOT_SECONDS} seconds`),
    h('p', { class: 'quiet' }, what)) };
}
