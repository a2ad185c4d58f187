// Finding an event: by its own id, by what it happened to, by who was told, or by the key of the command that made it.

import { config } from './config.js';
import { fill, freshId, h } from './dom.js';
import { link } from './router.js';
import { empty } from './states.js';
import { findByAggregate, findByKey, findByUser } from './findings.js';

const USER_TYPES = ['CUSTOMER', 'RESTAURANT_USER', 'AGENCY_USER', 'ADMIN_USER'];

/** Each way to search: its fields, and what it finds. */
const WAYS = {
  event: { title: 'Event id', fields: [['id', 'Event id', 'from a log, an inbox or a dead letter']] },
  aggregate: {
    title: 'Aggregate', find: findByAggregate,
    fields: [['aggregate_type', 'Aggregate type', 'Entitlement, Order, Reservation …'], ['aggregate_id', 'Aggregate id', 'carla#premium']],
  },
  user: {
    title: 'User', find: findByUser,
    fields: [['user_type', 'User type', USER_TYPES], ['user_id', 'User id', 'carla']],
  },
  key: {
    title: 'Idempotency key', find: findByKey,
    fields: [['key', 'Key', 'as the caller sent it'], ['caller', 'Caller', 'the subject of the caller’s token']],
  },
};

export function showEvents(root, { session, parameters, signal }) {
  const by = WAYS[parameters.get('by')] ? parameters.get('by') : 'event';
  const way = WAYS[by];
  const results = h('section', { class: 'results', 'aria-live': 'polite' });
  const form = h('form', { class: 'search', role: 'search', onsubmit: (event) => {
    event.preventDefault();
    const said = Object.fromEntries(new FormData(form));
    const there = by === 'event' ? link(['events', said.id.trim()]) : link(['events'], { by, ...trimmed(said) });
    if (there === location.hash) dispatchEvent(new HashChangeEvent('hashchange'));
    else location.hash = there;
  } },
  way.fields.map((field) => input(field, parameters)),
  h('button', { class: 'button primary' }, 'Search'));
  fill(root,
    h('h1', {}, 'Events'),
    h('div', { class: 'card' },
      h('nav', { class: 'tabs', 'aria-label': 'Search by' }, Object.entries(WAYS).map(([name, { title }]) =>
        h('a', { href: link(['events'], { by: name }), 'aria-current': name === by ? 'true' : null }, title))),
      form),
    results);
  const asked = Object.fromEntries(way.fields.map(([name]) => [name, parameters.get(name) ?? '']));
  if (way.find && Object.values(asked).every(Boolean)) {
    way.find(results, session, asked, signal);
  } else {
    fill(results, hint(by));
  }
}

function input([name, label, hint], parameters) {
  const id = freshId('search');
  const value = parameters.get(name) ?? '';
  return h('div', { class: 'field' }, h('label', { for: id }, label),
    Array.isArray(hint)
      ? h('select', { id, name, value: value || hint[0] }, hint.map((option) => h('option', { value: option }, option)))
      : h('input', { id, name, value, placeholder: hint, required: true, autocomplete: 'off', spellcheck: 'false' }));
}

function trimmed(said) {
  return Object.fromEntries(Object.entries(said).map(([name, value]) => [name, value.trim()]));
}

const HINTS = {
  event: 'The story of an event: from the command to the provider’s response, with every attempt.',
  aggregate: 'All events of one aggregate, newest first.',
  user: 'The notifications of one user, with the status of each send.',
  key: 'The stored response of a command, and the events that it committed.',
};

function hint(by) {
  const example = (text, parameters) => h('a', { class: 'button', href: link(['events'], parameters) }, text);
  return empty(HINTS[by], config.local && h('p', { class: 'row center' },
    example('Carla’s notifications', { by: 'user', user_type: 'CUSTOMER', user_id: 'carla' }),
    example('Carla’s premium', { by: 'aggregate', aggregate_type: 'Entitlement', aggregate_id: 'carla#premium' }),
    h('a', { class: 'button', href: '#/try' }, 'Create an event')));
}
