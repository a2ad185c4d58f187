// The inbox page: one's own, or on a laptop anybody's of the demo, several beside each other.

import { local } from './api.js';
import { config } from './config.js';
import { fill, freshId, h } from './dom.js';
import { words } from './format.js';
import { inboxPanel } from './inbox_panel.js';
import { notify } from './notices.js';
import { link } from './router.js';
import { Session } from './session.js';
import { localToken } from './sign_in.js';
import { empty, failed, loading } from './states.js';

export async function showInbox(root, { session, parameters, signal }) {
  const title = h('h1', {}, 'Inbox');
  if (!config.local) {
    const { name, sub, user_type } = session.claims;
    const panels = h('div', { class: 'panels' });
    fill(root, title, panels);
    inboxPanel(panels, session, { user_id: sub, user_type, name: name ?? sub }, { signal, operator: session });
    return;
  }
  const body = h('div', {}, loading());
  fill(root, title, body);
  try {
    const { people } = await local('GET', 'people', undefined, signal);
    if (!signal.aborted) showPeople(body, people, { session, parameters, signal });
  } catch (problem) {
    if (!signal.aborted) fill(body, failed(problem, () => showInbox(root, { session, parameters, signal })));
  }
}

/** Who is looked at stands in the address: `as=RESTAURANT_USER:rosa,RESTAURANT_USER:remo`. */
function showPeople(root, people, { session, parameters, signal }) {
  const named = (parameters.get('as') ?? '').split(',').filter(Boolean).map((text) => {
    const [user_type, ...rest] = text.split(':');
    const user_id = rest.join(':');
    return people.find((person) => person.user_type === user_type && person.user_id === user_id) ?? { user_type, user_id, name: user_id };
  });
  const panels = h('div', { class: named.length > 1 ? 'panels two' : 'panels' });
  fill(root, picker(people, named), named.length ? panels : nobody(people));
  for (const person of named.slice(0, 2)) {
    const token = () => localToken({ sub: person.user_id, user_type: person.user_type, name: person.name });
    inboxPanel(panels, new Session(token), person, { signal, operator: session });
  }
}

function picker(people, named) {
  const choose = (index, label) => {
    const id = freshId('person');
    const current = named[index] ? address(named[index]) : '';
    const select = h('select', { id, value: current, onchange: () => {
      const next = named.map(address);
      if (select.value) next[index] = select.value;
      else next.splice(index, 1);
      location.hash = link(['inbox'], { as: next.join(',') });
    } },
    h('option', { value: '' }, index ? 'nobody' : 'Choose somebody…'),
    people.map((person) => h('option', { value: address(person) }, `${person.name}, ${words(person.user_type).toLowerCase()}`)));
    return h('div', { class: 'field' }, h('label', { for: id }, label), select);
  };
  return h('div', { class: 'card picker' }, choose(0, 'Sign in as'), named.length > 0 && choose(1, 'And beside it'),
    named.length > 0 && h('a', { class: 'button', target: '_blank', rel: 'noopener', href: link(['inbox'], { as: address(named.at(-1)) }) },
      'Open in a window of its own'));
}

function address({ user_type, user_id }) {
  return `${user_type}:${user_id}`;
}

function nobody(people) {
  const pair = people.filter((person) => person.user_type === 'RESTAURANT_USER').slice(0, 2);
  return empty('Whose inbox?',
    h('p', { class: 'quiet' }, 'Rosa and Remo work at the same restaurant: of what both are told, the first to act decides, and the other sees it at once.'),
    h('p', { class: 'row center' },
      pair.length === 2 && h('a', { class: 'button primary', href: link(['inbox'], { as: pair.map(address).join(',') }) }, 'Rosa and Remo, side by side'),
      h('button', { type: 'button', class: 'button', onclick: fillDemo }, 'Fill in the demo data')));
}

async function fillDemo(event) {
  const button = event.target;
  button.disabled = true;
  try {
    await local('POST', 'demo');
    notify('Recipients, stock and a few events are there.', 'good');
  } catch (problem) {
    notify(problem.message, 'bad');
  }
  button.disabled = false;
}
