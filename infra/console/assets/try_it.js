// Try it: a request by form, the same as curl beside it, the answer, and the story of what it set going.

import { exchange } from './api.js';
import { answerCard } from './answers.js';
import { COMMANDS, curl } from './commands.js';
import { config } from './config.js';
import { copy } from './copy.js';
import { fill, freshId, h } from './dom.js';
import { eventOf } from './event_of.js';
import { showFaults } from './faults.js';
import { randomKey } from './format.js';
import { link } from './router.js';
import { showScenes } from './scenes.js';
import { empty, failed } from './states.js';
import { followStory } from './story.js';

export function showTryIt(root, { session, parameters, signal }) {
  const command = COMMANDS.find(({ id }) => id === parameters.get('command')) ?? COMMANDS[0];
  const answers = h('ol', { class: 'answers', 'aria-live': 'polite' });
  const story = h('section', { class: 'card', 'aria-label': 'Story' },
    empty('Send a request to see the story of its event.'));
  let following = new AbortController();
  signal.addEventListener('abort', () => following.abort());
  const follow = (eventId) => {
    following.abort();
    following = new AbortController();
    followStory(story, session, eventId, { signal: following.signal });
  };
  const answered = (title, answer) => answers.prepend(answerCard(title, answer));

  fill(root,
    h('h1', {}, 'Try it'),
    config.local && h('section', { class: 'card' }, h('h2', {}, 'Scenarios'), scenes()),
    h('div', { class: 'columns try' },
      h('section', { class: 'card' },
        h('nav', { class: 'tabs', 'aria-label': 'Request' }, COMMANDS.map(({ id, title }) =>
          h('a', { href: link(['try'], { command: id }), 'aria-current': id === command.id ? 'true' : null }, title))),
        h('p', { class: 'quiet' }, command.what),
        request()),
      h('div', { class: 'stack' }, h('section', { 'aria-label': 'Responses' }, answers), story)),
    config.local && h('section', { class: 'card' }, h('h2', {}, 'Provider faults'), faults()));

  function scenes() {
    const body = h('div', {});
    showScenes(body, session, { answered, follow, signal });
    return body;
  }

  function faults() {
    const body = h('div', {});
    showFaults(body, signal);
    return body;
  }

  function request() {
    const key = h('input', { id: freshId('key'), name: 'idempotency_key', value: randomKey('try'), autocomplete: 'off', spellcheck: 'false', required: true, maxlength: 255 });
    const shown = h('pre', { class: 'code lines', tabindex: '0', 'aria-label': 'The request as curl' });
    const trouble = h('div', {});
    const asked = () => {
      const said = Object.fromEntries(new FormData(form));
      delete said.idempotency_key;
      return { path: command.path, key: command.keyed ? key.value : undefined, body: command.body(said) };
    };
    const showCurl = () => { shown.textContent = curl(asked(), config.api || location.origin); };
    let last = null;
    const send = async (one, title) => {
      fill(trouble);
      again.disabled = true;
      try {
        const answer = await exchange(session, 'POST', one.path, { body: one.body, key: one.key, signal });
        answered(title, answer);
        last = one;
        again.disabled = false;
        const eventId = await eventOf(session, one, answer, signal);
        if (eventId) follow(eventId);
      } catch (problem) {
        if (!signal.aborted) fill(trouble, failed(problem, () => send(one, title)));
      }
    };
    const again = h('button', { type: 'button', class: 'button', disabled: true,
      onclick: () => send(last, command.keyed ? `${command.title}, the same key again` : `${command.title}, the same id again`) },
    command.keyed ? 'Send again with the same key' : 'Send again with the same id');
    const fresh = h('button', { type: 'button', class: 'button', onclick: () => {
      if (command.keyed) key.value = randomKey('try');
      else form.elements.event_id.value = randomKey('news');
      showCurl();
    } }, command.keyed ? 'New key' : 'New id');
    const form = h('form', { class: 'request', oninput: () => showCurl(), onsubmit: (event) => {
      event.preventDefault();
      send(asked(), command.title);
    } },
    h('div', { class: 'grid' }, command.fields().map(control)),
    command.keyed && h('div', { class: 'field' }, h('label', { for: key.id }, 'Idempotency-Key'), key),
    h('div', { class: 'row' }, h('button', { class: 'button primary' }, 'Send'), again, fresh));
    queueMicrotask(showCurl);
    return h('div', { class: 'stack' }, form, trouble,
      h('div', { class: 'code-head' }, h('h3', {}, 'As curl'), h('button', { type: 'button', class: 'link', onclick: () => copy(shown.textContent) }, 'Copy')),
      shown);
  }
}

function control([name, label, value, kind]) {
  const id = freshId('field');
  const required = kind !== 'optional';
  const plain = { id, name, value, required, autocomplete: 'off', type: kind === 'number' || kind === 'datetime-local' ? kind : 'text', min: kind === 'number' ? 1 : null };
  return h('div', { class: 'field' }, h('label', { for: id }, label),
    Array.isArray(kind) ? h('select', { id, name, value }, kind.map((option) => h('option', { value: option }, option))) : h('input', plain));
}
