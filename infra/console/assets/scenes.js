// Scenes that a newcomer sets going with one click: a replay, retries with backoff, a dead letter, a lost answer.

import { exchange, local } from './api.js';
import { fill, h } from './dom.js';
import { eventOf } from './event_of.js';
import { randomKey } from './format.js';
import { link } from './router.js';

/** Each does its steps with what it is handed: `send` a request, `local` for what a laptop offers, `say` how it goes. */
const SCENES = [
  {
    title: 'The same key twice', what: 'A grant, and again: one effect, the same answer.',
    async play({ send, say }) {
      const request = grant();
      await send('Grant', request);
      const second = await send('The same request again', request);
      say(second.replayed ? 'Answered from the store: byte for byte the same, and one event.' : 'Not replayed?');
    },
  },
  {
    title: 'Everything twice', what: 'A grant whose every message is delivered five times more.',
    async play({ send, say }) {
      const eventId = await send('Grant', grant()).then((it) => it.eventId);
      await local('GET', 'idle?timeout=20');
      const { deliveries } = await local('POST', 'redeliver', { event_id: eventId, times: 5 });
      say(`${deliveries} deliveries more. The story is the same, and nobody was told twice.`);
    },
  },
  {
    title: 'A mail provider that stumbles', what: 'It fails twice: two retries with backoff, then sent.',
    async play({ send, say }) {
      await local('POST', 'faults', { target: 'EMAIL', mode: 'error', times: 2 });
      await send('An announcement by mail', mail('The oven is warm'));
      say('The first attempt fails, the next waits for its backoff, the third gets through: watch the story.');
    },
  },
  {
    title: 'A mail that is given up', what: 'Five failures: a dead letter, in about 20 seconds.',
    async play({ send, say }) {
      await local('POST', 'faults', { target: 'EMAIL', mode: 'error', times: 5 });
      await send('An announcement by mail', mail('This will not arrive'));
      say('After the fifth attempt it is a dead letter: redrive it, the provider works again by then.', link(['dead-letters']));
    },
  },
  {
    title: 'Poison', what: 'A message that no consumer can read: a dead letter at once.',
    async play({ say }) {
      await local('POST', 'inject', { queue: 'fanout-customer', body: `poison ${randomKey('no')}` });
      say('It is a dead letter, with the reason.', link(['dead-letters']));
    },
  },
  {
    title: 'A payment whose answer is lost', what: 'The order is charged once all the same.',
    async play({ send, say }) {
      await local('POST', 'faults', { target: 'PAYMENT', mode: 'drop_answer', times: 2 });
      const { answer } = await send('Order', {
        path: '/v1/orders', key: randomKey('scene'),
        body: { customer_id: 'chen', lines: [{ stock_keeping_unit: 'espresso', quantity: 1 }] },
      });
      const order = answer.json?.order_id;
      say('The intent is made once, its stored id confirmed once.',
        order && link(['events'], { by: 'aggregate', aggregate_type: 'Order', aggregate_id: order }), 'All events of the order');
    },
  },
];

function grant() {
  const body = { user_id: 'carla', stock_keeping_unit: randomKey('unit'), reason: 'PURCHASE', purchase_id: randomKey('p') };
  return { path: '/v1/entitlements/grants', key: randomKey('scene'), body };
}

function mail(title) {
  const event_id = randomKey('scene');
  const payload = { title, body: 'By mail alone.', audience: 'CUSTOMER', user_id: 'carla', channels: ['EMAIL'] };
  return { path: '/v1/events', body: { event_id, event_type: 'Announcement', aggregate_type: 'Notice', aggregate_id: event_id, payload } };
}

export function showScenes(root, session, { answered, follow, signal }) {
  const said = h('p', { class: 'scene-said', 'aria-live': 'polite' });
  const say = (text, href, name = 'Dead letters') => fill(said, text, href && [' ', h('a', { href }, name)]);
  const send = async (title, request) => {
    const answer = await exchange(session, 'POST', request.path, { body: request.body, key: request.key, signal });
    answered(title, answer);
    const eventId = await eventOf(session, request, answer, signal);
    if (eventId) follow(eventId);
    return { answer, eventId, replayed: answer.replayed };
  };
  const play = (scene) => async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    say('Setting the scene…');
    try {
      // Carla, Chen and the stock: there already, or put there now.
      const carla = await exchange(session, 'GET', '/v1/recipients/CUSTOMER/carla', { signal });
      if (carla.status === 404) await local('POST', 'demo', undefined, signal);
      await scene.play({ send, say });
    } catch (problem) {
      if (!signal.aborted) say(problem.message);
    }
    button.disabled = false;
  };
  fill(root,
    h('ul', { class: 'scenes' }, SCENES.map((scene) => h('li', {},
      h('button', { type: 'button', class: 'scene', onclick: play(scene) },
        h('strong', {}, scene.title), h('span', { class: 'quiet' }, scene.what))))),
    said);
}
