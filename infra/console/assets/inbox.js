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

export function showInbox(root, route) {
  return config.local ? showAnybodys(root, route) : showOwn(root, route);
}

async function showAnybodys(root, { session, parameters, signal }) {
  const body = h('div', { class: 'stack' }, loading());
  fill(root, title(), body);
  try {
    const { people } = await local('GET', 'people', undefined, signal);
    if (!signal.aborted) showPeople(body, people, { session, parameters, signal });
  } catch (problem) {
    if (!signal.aborted) fill(body, failed(problem, () => showAnybodys(root, { session, parameters, signal })));
  }
}

/** Whose inbox it is, the token says: without one there is nothing to show. */
async function showOwn(root, { session, signal }) {
  const panels = h('div', { class: 'panels' }, loading());
  fill(root, title(), panels);
  try {
    await session.ready();
  } catch (problem) {
    if (!signal.aborted) fill(panels, failed(problem, () => showOwn(root, { session, signal })));
    return;
  }
  if (signal.aborted) return;
  const { name, sub, user_type } = session.claims;
  fill(panels);
  inboxPanel(panels, session, { user_id: sub, user_type, name: name ?? sub ?? '?' }, { signal, operator: session });
}

function title() {
  return h('h1', {}, 'Inbox');
}

/** Who is looked at stands in the address: `as=RESTAURANT_USER:rosa,RESTAURANT_USER:remo`. It follows the choice, and the
    controls stay: whoever types a name goes on typing. */
function showPeople(root, people, { session, parameters, signal }) {
  const body = h('div', {});
  let leave = new AbortController();
  signal.addEventListener('abort', () => leave.abort());
  const show = (chosen) => {
    leave.abort();
    leave = new AbortController();
    const named = chosen.filter(Boolean).map((text) => known(people, text));
    const panels = h('div', { class: named.length > 1 ? 'panels two' : 'panels' });
    fill(body, named.length ? panels : nobody(people));
    for (const person of named) {
      const token = () => localToken({ sub: person.user_id, user_type: person.user_type, name: person.name });
      inboxPanel(panels, new Session(token), person, { signal: leave.signal, operator: session });
    }
  };
  const chosen = (parameters.get('as') ?? '').split(',').slice(0, 2);
  fill(root, picker(people, chosen, (now) => {
    history.replaceState(null, '', link(['inbox'], { as: now.filter(Boolean).join(',') }));
    show(now);
  }), body);
  show(chosen);
}

function known(people, text) {
  const [user_type, ...rest] = text.split(':');
  const user_id = rest.join(':');
  return people.find((person) => address(person) === text) ?? { user_type, user_id, name: user_id };
}

function picker(people, chosen, changed) {
  const choose = (index, label, nobodyText) => {
    const id = freshId('person');
    const select = h('select', { id, value: chosen[index] ?? '' },
      h('option', { value: '' }, nobodyText),
      people.map((person) => h('option', { value: address(person) }, `${person.name}, ${words(person.user_type).toLowerCase()}`)));
    return { select, field: h('div', { class: 'field' }, h('label', { for: id }, label), select) };
  };
  const [one, other] = [choose(0, 'Sign in as', 'Choose somebody…'), choose(1, 'Second inbox', 'none')];
  const apart = h('a', { class: 'button', target: '_blank', rel: 'noopener' }, 'Open in a new window');
  const update = () => {
    const now = [one.select.value, other.select.value];
    for (const part of [other.field, apart]) part.hidden = !now[0];
    apart.href = link(['inbox'], { as: now[1] || now[0] });
    return now;
  };
  for (const { select } of [one, other]) select.addEventListener('change', () => changed(update()));
  update();
  return h('div', { class: 'card picker' }, one.field, other.field, apart);
}

function address({ user_type, user_id }) {
  return `${user_type}:${user_id}`;
}

function nobody(people) {
  const pair = people.filter((person) => person.user_type === 'RESTAURANT_USER').slice(0, 2);
  return empty('Whose inbox?',
    h('p', { class: 'quiet' }, 'Rosa and Remo work at the same restaurant. The first of them to act on a notification decides, and the other sees it at once.'),
    h('p', { class: 'row center' },
      pair.length === 2 && h('a', { class: 'button primary', href: link(['inbox'], { as: pair.map(address).join(',') }) }, 'Rosa and Remo, side by side'),
      h('button', { type: 'button', class: 'button', onclick: fillDemo }, 'Fill in the demo data')));
}

async function fillDemo(event) {
  const button = event.target;
  button.disabled = true;
  try {
    await local('POST', 'demo');
    notify('Demo data created: recipients, stock and a few events.', 'good');
  } catch (problem) {
    notify(problem.message, 'bad');
  }
  button.disabled = false;
}
