// A live socket: a ticket opens it, what comes through it is handed on, and when it breaks another one is opened.

import { ask } from './api.js';
import { pause } from './polling.js';

const LONGEST_WAIT_MS = 15_000;

/** Keeps a socket open until the signal says otherwise. `onState` hears `connecting`, `live` or `away`; `onMessage` each
    message. What happened between two sockets is not told: whoever hears `live` reads again. */
export async function keepLive(session, signal, { onState, onMessage }) {
  let wait = 500;
  while (!signal.aborted) {
    onState('connecting');
    try {
      const { ticket, url } = await ask(session, 'POST', '/v1/live/tickets', { signal });
      if (signal.aborted) return;
      // The ticket is used up by the handshake and good for a minute; the token stays out of the address.
      const opened = await run(`${url}?ticket=${encodeURIComponent(ticket)}`, signal, onMessage, () => {
        wait = 500;
        onState('live');
      });
      if (!opened) wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    } catch {
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
    }
    if (signal.aborted) return;
    onState('away');
    await pause(wait, signal);
  }
}

/** Resolves when the socket is closed, to whether it was ever open. */
function run(url, signal, onMessage, onOpen) {
  return new Promise((done) => {
    const socket = new WebSocket(url);
    let opened = false;
    socket.addEventListener('open', () => {
      opened = true;
      onOpen();
    });
    socket.addEventListener('message', (event) => onMessage(JSON.parse(event.data)));
    socket.addEventListener('close', () => done(opened));
    signal.addEventListener('abort', () => socket.close(), { once: true });
  });
}
