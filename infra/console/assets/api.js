// Calls the API with a session's token. A session that has run out is renewed, and the call made again.

import { config } from './config.js';

/** Why a call did not give what was asked for. */
export class Problem extends Error {
  constructor(code, message, more = {}) {
    super(message);
    this.name = 'Problem';
    this.code = code;
    Object.assign(this, more);
  }
}

/** One exchange: status, what the answer's headers say, and its body as text and as JSON. Fails only where there was no
    answer at all. */
export async function exchange(session, method, path, { body, key, signal } = {}) {
  await session?.ready();
  const used = session?.token;
  let answer = await send(session, method, path, { body, key, signal });
  if (answer.status === 401 && session) {
    // Another call may have got a new one while this was on its way with the old.
    if (session.token === used) await session.refresh('ended');
    answer = await send(session, method, path, { body, key, signal });
  }
  return answer;
}

async function send(session, method, path, { body, key, signal }) {
  const headers = new Headers();
  if (session?.token) headers.set('authorization', `Bearer ${session.token}`);
  if (key) headers.set('idempotency-key', key);
  if (body !== undefined) headers.set('content-type', 'application/json');
  let response;
  let text;
  try {
    const init = { method, headers, signal, credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store' };
    if (body !== undefined) init.body = typeof body === 'string' ? body : JSON.stringify(body);
    response = await fetch(config.api + path, init);
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem('AWAY', 'Belfry does not respond. Check that it is running and that you are online.');
  }
  return {
    status: response.status,
    ok: response.ok,
    replayed: response.headers.get('idempotency-replayed') === 'true',
    requestId: response.headers.get('x-request-id'),
    retryAfter: response.headers.get('retry-after'),
    text,
    json: parsed(text),
  };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What a refusal says, as something to show. */
export function problemOf(answer) {
  const { code, message, details, handled_by } = answer.json ?? {};
  const said = message ?? `The API responded with ${answer.status}.`;
  return new Problem(code ?? String(answer.status), said, {
    status: answer.status, details, handledBy: handled_by, requestId: answer.requestId,
  });
}

/** The JSON of a good answer; anything else is a `Problem`. */
export async function ask(session, method, path, options) {
  const answer = await exchange(session, method, path, options);
  if (!answer.ok) throw problemOf(answer);
  return answer.json;
}

export function get(session, path, signal) {
  return ask(session, 'GET', path, { signal });
}

/** What a laptop has and the cloud has not. */
export function local(method, path, body, signal) {
  return ask(null, method, `/local/${path}`, { body, signal });
}

/** A query string of what is there. */
export function query(parameters) {
  const there = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return there.length ? `?${new URLSearchParams(there)}` : '';
}
