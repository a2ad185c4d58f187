// From a request to the event that it made.

import { get, query } from './api.js';

/** The event that a request made: the one it names, or the one that is stored with its key. */
export async function eventOf(session, { path, key, body }, answer, signal) {
  if (path === '/v1/events') return answer.ok ? body.event_id : null;
  try {
    const caller = session.claims.sub;
    const stored = await get(session, `/v1/idempotency-keys/${encodeURIComponent(key)}${query({ caller })}`, signal);
    return stored.event_ids[0] ?? null;
  } catch {
    // Whoever may not operate sees the answer, and no story.
    return null;
  }
}
