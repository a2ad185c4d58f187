// Redriving and discarding dead letters, and watching what comes of it. Every order carries a key made of the letter and its
// version, so that a second click is a replay.

import { ask, get, query } from './api.js';
import { spaced } from './format.js';
import { pause } from './polling.js';
import { link } from './router.js';

const WATCHED_MS = 45_000;
const STEP_MS = 600;

/** What a letter is called in a line. */
export function named(letter) {
  return `${spaced(letter.event_type ?? 'Unreadable message')} (${letter.queue})`;
}

/** Redrives or discards one letter. Resolves when it is known what came of it. */
export async function steer(session, letter, order, log, signal) {
  const line = log.add(`${order === 'redrive' ? 'Redrive' : 'Discard'} ${named(letter)}`, link(['dead-letters', letter.dead_letter_id]));
  line.say(order === 'redrive' ? 'redriving…' : 'discarding…');
  try {
    const path = `/v1/dead-letters/${letter.dead_letter_id}/${order}`;
    const key = `console-${order}-${letter.dead_letter_id}-${letter.version}`;
    await ask(session, 'POST', path, { key, signal });
    if (order === 'discard') return line.say('discarded', 'good');
    line.say('redriven, waiting for its consumer…');
    return await watch(session, letter, line, signal);
  } catch (problem) {
    return line.say(problem.message, 'bad');
  }
}

/** Follows a letter that is redriven to its end: done, or a dead letter again. `before` is the letter as it was. */
async function watch(session, before, line, signal) {
  const until = Date.now() + WATCHED_MS;
  while (Date.now() < until && !signal.aborted) {
    const now = await get(session, `/v1/dead-letters/${before.dead_letter_id}`, signal);
    if (now.status === 'OPEN' && now.version > before.version) return line.say(`failed again: ${now.reason}`, 'bad');
    if (!now.event_id && await diedAnew(session, now, signal)) return line.say(`failed again: ${now.reason}`, 'bad');
    const done = now.event_id && await outcome(session, now, signal);
    if (done) return line.say(done, 'good');
    await pause(STEP_MS, signal);
  }
  return line.say('still in progress; see its story', 'open');
}

/** A message in which nobody can read an event is another one each time it is sent, and so is its dead letter. */
async function diedAnew(session, letter, signal) {
  const asked = { queue: letter.queue, status: 'OPEN', since: letter.handled_at };
  const { dead_letters } = await get(session, `/v1/dead-letters${query(asked)}`, signal);
  return dead_letters.some((other) => other.body === letter.body.slice(0, other.body.length));
}

/** What its consumer did with it since the redrive, if it is done. */
async function outcome(session, letter, signal) {
  const { story } = await get(session, `/v1/events/${encodeURIComponent(letter.event_id)}`, signal);
  const channel = letter.consumer.startsWith('deliver:') ? letter.consumer.slice('deliver:'.length) : null;
  // One event is told to many: the send that is meant is the one of the letter's own order.
  const notification = channel && orderOf(letter)?.notification_id;
  const isOwn = (stage) => stage.channel === channel && stage.notification_id === notification;
  const sent = notification && story.some((stage) => stage.stage === 'SENT' && isOwn(stage) && stage.at >= letter.handled_at);
  if (sent) return `done: ${channel} sent`;
  const processed = story.some((stage) => stage.stage === 'PROCESSED' && stage.consumer === letter.consumer);
  return !channel && processed ? `done: processed by ${letter.consumer}` : null;
}

/** The order to send that a letter of a delivery is. */
function orderOf(letter) {
  try {
    return JSON.parse(letter.body);
  } catch {
    return null;
  }
}

/** Redrives many as one job: chosen ids, or all that match a filter. */
export async function redriveMany(session, selection, letters, log, signal) {
  const key = `console-job-${crypto.randomUUID()}`;
  const { job_id, matched } = await ask(session, 'POST', '/v1/dead-letters/redrive', { key, body: selection, signal });
  const line = log.add(`Redrive ${matched}`, link(['events', job_id]));
  line.say(`requested, ${matched} to redrive…`);
  const lines = letters.map((letter) => [letter, log.add(named(letter), link(['dead-letters', letter.dead_letter_id]))]);
  for (const [, each] of lines) each.say('waiting for the job…');
  let redriven = 0;
  const watched = lines.map(async ([letter, each]) => {
    if (!await isHandled(session, letter, signal)) return each.say('not redriven yet', 'open');
    redriven += 1;
    line.say(`${redriven} of ${letters.length} redriven…`);
    if (redriven === letters.length) line.say(`all ${redriven} redriven`, 'good');
    each.say('redriven, waiting for its consumer…');
    return watch(session, letter, each, signal);
  });
  if (selection.filter) watched.push(untilNoneIsLeft(session, selection.filter, { job_id, matched }, line, signal));
  await Promise.all(watched);
  if (redriven < letters.length) line.say(`${redriven} of ${letters.length} redriven; see its story`, 'open');
}

/** Waits until the job has come to this letter, which may be open again by then: it has failed once more. */
async function isHandled(session, letter, signal) {
  const until = Date.now() + WATCHED_MS;
  while (Date.now() < until && !signal.aborted) {
    const now = await get(session, `/v1/dead-letters/${letter.dead_letter_id}`, signal);
    if (now.version > letter.version) return true;
    await pause(STEP_MS, signal);
  }
  return false;
}

/** A filter's letters are not listed here; how many of them are still open tells how far the job is. */
async function untilNoneIsLeft(session, filter, { job_id, matched }, line, signal) {
  if (matched === 0) return line.say('nothing to do', 'good');
  // What dies again meanwhile is not the job's: it is younger than the job, by the server's clock.
  const { story } = await get(session, `/v1/events/${job_id}`, signal);
  const body = { filter: { ...filter, until: story[0].at }, dry_run: true };
  const until = Date.now() + WATCHED_MS;
  while (Date.now() < until && !signal.aborted) {
    const key = `console-count-${crypto.randomUUID()}`;
    const left = await ask(session, 'POST', '/v1/dead-letters/redrive', { key, body, signal });
    if (left.matched === 0) return line.say(`all ${matched} redriven`, 'good');
    line.say(`${matched - left.matched} of ${matched} redriven…`);
    await pause(STEP_MS, signal);
  }
  return line.say('continues in the background; see its story', 'open');
}
