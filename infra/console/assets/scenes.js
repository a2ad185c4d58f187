// Scenes that a newcomer sets going with one click: a replay, retries with backoff, a dead letter, a lost answer.

import { exchange, local } from './api.js';
import { fill, h } from './dom.js';
import { eventOf } from './event_of.js';
import { randomKey } from './format.js';
import { link } from './router.js';

/** Each does its steps with what it is handed: `send` a request, `local` for what a laptop offers, `say` how it goes. */
const SCENES = [
  {
    title: 'The same key twice', what: 'A grant, sent twice: one effect, the same response.',
    async play({ send, say }) {
      const request = grant();
      await send('Grant', request);
      const second = await send('The same request again', request);
      say(second.replayed ? 'Stored response, byte for byte the same, and one event.' : 'The response was not a replay.');
    },
  },
  {
    title: 'Duplicate deliveries', what: 'A grant whose messages are all delivered five more times.',
    async play({ send, say }) {
      const eventId = await send('Grant', grant()).then((it) => it.eventId);
      await local('GET', 'idle?timeout=20');
      const { deliveries } = await local('POST', 'redeliver', { event_id: eventId, times: 5 });
      say(`${deliveries} more deliveries. The story is unchanged, and nobody was notified twice.`);
    },
  },
  {
    title: 'An email provider that fails twice', what: 'Two retries after a backoff, then sent.',
    async play({ send, say }) {
      await local('POST', 'faults', { target: 'EMAIL', mode: 'error', times: 2 });
      await send('Announcement by email', mail('The oven is warm'));
      say('Two attempts fail and are retried after a backoff; the third is sent. See the story.');
    },
  },
  {
    title: 'An email that fails', what: 'Five failed attempts, then a dead letter, in about 20 seconds.',
    async play({ send, say }) {
      await local('POST', 'faults', { target: 'EMAIL', mode: 'error', times: 5 });
      await send('Announcement by email', mail('This will not arrive'));
      say('After the fifth attempt there is a dead letter. Redrive it: the provider works again by then.', link(['dead-letters']));
    },
  },
  {
    title: 'A poison message', what: 'A message that no consumer can read: a dead letter at once.',
    async play({ say }) {
      await local('POST', 'inject', { queue: 'fanout-customer', body: `poison ${randomKey('no')}` });
      say('The message is a dead letter now, with the reason.', link(['dead-letters']));
    },
  },
  {
    title: 'A payment whose response is lost', what: 'The order is charged once anyway.',
    async play({ send, say }) {
      await local('POST', 'faults', { target: 'PAYMENT', mode: 'drop_answer', times: 2 });
      const { answer } = await send('Order', {
        path: '/v1/orders', key: randomKey('scene'),
        body: { customer_id: 'chen', lines: [{ stock_keeping_unit: 'espresso', quantity: 1 }] },
      });
      const order = answer.json?.order_id;
      say('The payment intent is created once and confirmed once.',
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
  const payload = { title, body: 'Sent by email only.', audience: 'CUSTOMER', user_id: 'carla', channels: ['EMAIL'] };
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
    say('Starting…');
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
