// Dead letters: what consumers gave up on. Filter, choose, redrive or discard.

import { ask, get, query } from './api.js';
import { activity } from './activity.js';
import { confirmed } from './confirm.js';
import { fill, freshId, h, keyed } from './dom.js';
import { plural, shortId, spaced } from './format.js';
import { every } from './polling.js';
import { link } from './router.js';
import { empty, failed, loading, stale } from './states.js';
import { redriveMany, steer } from './steering.js';
import { refreshAgo, timeAgo } from './time_ago.js';

const QUEUES = ['fanout-customer', 'fanout-restaurant-user', 'fanout-agency-user', 'fanout-admin-user', 'deliver-email',
  'deliver-sms', 'deliver-push', 'deliver-slack', 'inventory', 'payment', 'order', 'redrives'];
const SPANS = [['', 'any time'], ['1', 'the last hour'], ['24', 'the last day'], ['168', 'the last week']];
const STATUSES = ['OPEN', 'REDRIVEN', 'DISCARDED'];
const PAGE = 50;

export function showDeadLetters(root, { session, parameters, signal }) {
  let asked = {
    status: parameters.get('status') ?? 'OPEN', queue: parameters.get('queue') ?? '',
    event_type: parameters.get('event_type') ?? '', reason: parameters.get('reason') ?? '', hours: parameters.get('hours') ?? '',
  };
  const chosen = new Set();
  const log = activity('Activity');
  const list = h('ul', { class: 'letters', 'aria-label': 'Dead letters' });
  const body = h('div', {}, loading());
  const trouble = h('div', {});
  let letters = [];
  let more = false;
  let pages = 1;
  let readings = 0;
  let standing = null;

  const load = async () => {
    const reading = readings += 1;
    try {
      const found = await read(session, asked, pages, signal);
      // The filter may be another one by now, or the pages more.
      if (reading !== readings) return;
      ({ letters, more } = found);
      const shown = new Set(letters.map((letter) => letter.dead_letter_id));
      for (const id of chosen) if (!shown.has(id)) chosen.delete(id);
      fill(trouble);
      draw();
    } catch (problem) {
      if (signal.aborted || reading !== readings) return;
      if (standing === list) fill(trouble, stale(problem));
      else stand(problem.message, () => failed(problem, load));
    }
  };
  // What the body shows is made anew only where it becomes something else: its controls are under somebody's hand.
  const stand = (what, make) => {
    if (standing === what) return;
    standing = what;
    fill(body, make());
  };
  const draw = () => {
    if (letters.length > 0) stand(list, () => list);
    else stand(asked, () => nothing(asked));
    keyed(list, letters.map((letter) => ({ key: letter.dead_letter_id, state: letter, make: () => row(letter, chosen, drawBar) })));
    refreshAgo(list);
    older.hidden = !more;
    drawBar();
  };
  const older = h('div', { class: 'row center', hidden: true },
    h('button', { type: 'button', class: 'button', onclick: () => {
      pages += 1;
      load();
    } }, 'Show more'));
  const open = () => letters.filter((letter) => letter.status === 'OPEN');
  const picked = () => open().filter((letter) => chosen.has(letter.dead_letter_id));
  const all = h('input', { type: 'checkbox', onchange: () => {
    for (const letter of open()) {
      if (all.checked) chosen.add(letter.dead_letter_id);
      else chosen.delete(letter.dead_letter_id);
    }
    drawBar();
  } });
  const how = h('span', { class: 'quiet', 'aria-live': 'polite' });
  const act = (order) => async () => {
    const these = picked();
    if (order === 'discard' && !await confirmed(`Discard ${plural(these.length, 'dead letter')}?`,
      'Their effects will not happen. The audit trail keeps who discarded them.', 'Discard', 'danger')) return;
    chosen.clear();
    drawBar();
    if (order === 'redrive' && these.length > 1) {
      const ids = these.map((letter) => letter.dead_letter_id);
      await watched(() => redriveMany(session, { ids }, these, log, signal));
    } else {
      await Promise.all(these.map((letter) => steer(session, letter, order, log, signal)));
    }
    await load();
  };
  const button = (text, kind, onclick) => h('button', { type: 'button', class: `button ${kind}`, disabled: true, onclick }, text);
  const [redrive, discard] = [button('Redrive', 'primary', act('redrive')), button('Discard', '', act('discard'))];
  const everything = button('Redrive all that match…', '', () => redriveAll());
  const bar = h('div', { class: 'bulk' }, h('label', { class: 'check' }, all, 'Select all shown'), how,
    h('span', { class: 'push row' }, redrive, discard, everything));
  const drawBar = () => {
    const [many, few] = [open().length, picked().length];
    all.disabled = everything.disabled = many === 0;
    all.checked = few > 0 && few === many;
    all.indeterminate = few > 0 && few < many;
    redrive.disabled = discard.disabled = few === 0;
    for (const item of list.children) item.querySelector('input').checked = chosen.has(item.dataset.key);
    how.textContent = few ? `${few} selected` : letters.length ? `${plural(letters.length, 'dead letter')}${more ? ', and more' : ''}` : '';
  };
  const redriveAll = () => watched(async () => {
    const { status, ...filter } = filterOf(asked);
    const key = `console-count-${crypto.randomUUID()}`;
    const { matched } = await ask(session, 'POST', '/v1/dead-letters/redrive', { key, body: { filter, dry_run: true }, signal });
    if (!await confirmed(`Redrive ${plural(matched, 'dead letter')}?`,
      'Each message goes only to the consumer that gave up on it. Effects that already happened do not happen again.', 'Redrive')) return;
    await redriveMany(session, { filter }, [], log, signal);
    await load();
  });
  const watched = async (work) => {
    try {
      await work();
    } catch (problem) {
      if (!signal.aborted) fill(trouble, failed(problem));
    }
  };
  // The address follows the filter, and the form stays: whoever types into it goes on typing.
  const filtered = (said) => {
    asked = said;
    pages = 1;
    history.replaceState(null, '', link(['dead-letters'], said));
    load();
  };
  fill(root, h('h1', {}, 'Dead letters'), filters(asked, filtered), trouble, bar, body, older, log.element);
  every(2000, signal, load);
}

/** So many pages of what is asked for. What fails again between two of them is in both, and shown once. */
async function read(session, asked, pages, signal) {
  const letters = new Map();
  const filter = filterOf(asked);
  let cursor;
  for (let page = 0; page < pages && cursor !== null; page += 1) {
    const answer = await get(session, `/v1/dead-letters${query({ ...filter, limit: PAGE, cursor })}`, signal);
    for (const letter of answer.dead_letters) letters.set(letter.dead_letter_id, letter);
    cursor = answer.next_cursor;
  }
  return { letters: [...letters.values()], more: cursor !== null };
}

function filterOf({ hours, ...asked }) {
  const since = hours ? new Date(Date.now() - Number(hours) * 3_600_000).toISOString() : '';
  return Object.fromEntries(Object.entries({ ...asked, since }).filter(([, value]) => value && value !== 'ALL'));
}

function row(letter, chosen, changed) {
  const id = freshId('letter');
  const open = letter.status === 'OPEN';
  return h('li', { class: 'letter' },
    h('input', { type: 'checkbox', id, disabled: !open, checked: chosen.has(letter.dead_letter_id), 'data-focus': 'choose',
      onchange: (event) => {
        if (event.target.checked) chosen.add(letter.dead_letter_id);
        else chosen.delete(letter.dead_letter_id);
        changed();
      } }),
    h('div', { class: 'letter-body' },
      h('p', { class: 'letter-title' },
        h('label', { for: id }, spaced(letter.event_type ?? 'Unreadable message')),
        h('span', { class: `badge ${open ? 'bad' : 'quiet'}` }, letter.status),
        h('span', { class: 'badge plain' }, letter.queue)),
      h('p', { class: 'letter-reason' }, letter.reason),
      h('p', { class: 'quiet' }, timeAgo(letter.created_at), `, received ${plural(letter.receive_count, 'time')}`,
        letter.handled_by && ` · ${letter.status.toLowerCase()} by ${letter.handled_by}`)),
    h('p', { class: 'letter-links' },
      h('a', { href: link(['dead-letters', letter.dead_letter_id]), 'data-focus': 'open' }, 'Details'),
      letter.event_id && h('a', { href: link(['events', letter.event_id]), title: letter.event_id }, `Story ${shortId(letter.event_id)}`)));
}

function filters(asked, filtered) {
  const field = (label, control) => {
    control.id = freshId('filter');
    return h('div', { class: 'field' }, h('label', { for: control.id }, label), control);
  };
  const choice = (name, options) => h('select', { name, value: asked[name] },
    options.map(([value, text]) => h('option', { value }, text)));
  const form = h('form', { class: 'filters card', role: 'search', 'aria-label': 'Filter dead letters',
    onsubmit: (event) => event.preventDefault(),
    onchange: () => filtered(Object.fromEntries(new FormData(form))) },
  field('Status', choice('status', [...STATUSES.map((status) => [status, status]), ['ALL', 'all']])),
  field('Queue', choice('queue', [['', 'all'], ...QUEUES.map((queue) => [queue, queue])])),
  field('Created', choice('hours', SPANS)),
  field('Event type', h('input', { name: 'event_type', value: asked.event_type, placeholder: 'any', autocomplete: 'off' })),
  field('Reason contains', h('input', { name: 'reason', value: asked.reason, placeholder: 'anything', autocomplete: 'off' })));
  return form;
}

function nothing({ status, queue, event_type, reason, hours }) {
  const filtered = queue || event_type || reason || hours || status !== 'OPEN';
  return filtered
    ? empty('No dead letters match.', h('p', {}, h('a', { class: 'button', href: '#/dead-letters' }, 'Show all open dead letters')))
    : empty('No dead letters.', h('p', { class: 'quiet' }, 'Messages that a consumer gives up on stay here until an operator redrives or discards them.'));
}
