// The stages of a story in words: what happened, on which lane, and whether that is good.

import { duration, moment, words } from './format.js';

/** What a stage is called, in full sentences without their subject. */
export function sentence(stage) {
  const { consumer } = stage;
  const send = `${stage.channel} to ${stage.user_id}`;
  switch (stage.stage) {
    case 'COMMITTED': return `Committed${stage.by ? ` by ${stage.by}` : ''}`;
    case 'PUBLISHED': return 'Published to every subscribed queue';
    case 'NOT_PUBLISHED': return `Not published, attempt ${stage.attempt_count}`;
    case 'FAILED': return `Failed after ${attempts(stage.attempt_count)} to publish`;
    case 'CLAIMED': return 'Claimed by a sweeper';
    case 'REPUBLISHED': return `Republished by ${stage.by}`;
    case 'PROCESSED': return `Processed by ${consumer}`;
    case 'NOTIFIED': return `${words(stage.audience)} notified${told(stage)}`;
    case 'NOTIFICATION': return `In the inbox of ${stage.user_id}`;
    case 'SEND_ATTEMPT': return stage.outcome === 'sent' ? `${send}: accepted by the provider` : `${send}: attempt failed`;
    case 'PROVIDER_RECEIPT': return `Response of ${stage.provider} for ${send}`;
    case 'SENT': return `${send} sent${stage.attempt_count > 1 ? ` on attempt ${stage.attempt_count}` : ''}`;
    case 'SEND_FAILED': return `${send} failed after ${attempts(stage.attempt_count)}`;
    case 'SKIPPED': return `${send} skipped`;
    case 'SEND_PENDING': return `${send} pending${again(stage.next_retry_at)}`;
    case 'SEND_PROCESSING': return `${send} is being sent`;
    case 'SEND_UNCERTAIN': return `${send}: outcome unknown${again(stage.next_retry_at)}`;
    case 'DEAD_LETTER': return `Dead letter of ${consumer}`;
    case 'REDRIVEN': return `Redriven by ${stage.by}`;
    case 'DISCARDED': return `Discarded by ${stage.by}`;
    case 'JOB_PART': return `Part ${stage.part} of a redrive of ${stage.matched} dead letters`;
    default: return words(stage.stage);
  }
}

function told({ read_by, handled_by }) {
  if (handled_by) return `, handled by ${handled_by}`;
  return read_by ? `, read by ${read_by}` : '';
}

function attempts(count) {
  return count === 1 ? '1 attempt' : `${count} attempts`;
}

function again(time) {
  if (!time) return '';
  const left = Date.parse(time) - Date.now();
  return left > 0 ? `, next attempt in ${duration(left)}` : ', next attempt soon';
}

/** Why, where a stage says so. */
export function reason(stage) {
  if (stage.stage === 'SEND_ATTEMPT') return stage.outcome === 'sent' ? null : stage.outcome;
  if (stage.stage === 'PROVIDER_RECEIPT') return stage.provider_message_id;
  if (stage.stage === 'SENT') return stage.receipts?.join(', ') || null;
  if (stage.stage === 'CLAIMED') return `until ${moment(stage.lease_until)}`;
  return stage.reason ?? stage.error ?? stage.last_error ?? null;
}

const GOOD = new Set(['PUBLISHED', 'PROCESSED', 'SENT', 'PROVIDER_RECEIPT', 'NOTIFIED', 'NOTIFICATION']);
const BAD = new Set(['NOT_PUBLISHED', 'FAILED', 'SEND_FAILED', 'DEAD_LETTER']);
const OPEN = new Set(['SEND_PENDING', 'SEND_PROCESSING', 'SEND_UNCERTAIN', 'CLAIMED']);
const QUIET = new Set(['SKIPPED', 'DISCARDED']);

/** good, bad, open (it goes on), quiet or plain. */
export function tone(stage) {
  if (stage.stage === 'SEND_ATTEMPT') return stage.outcome === 'sent' ? 'good' : 'bad';
  if (GOOD.has(stage.stage)) return 'good';
  if (BAD.has(stage.stage)) return 'bad';
  if (OPEN.has(stage.stage)) return 'open';
  return QUIET.has(stage.stage) ? 'quiet' : 'plain';
}

/** Who did it: command, relay, a consumer, or one send. */
export function laneOf(stage) {
  switch (stage.stage) {
    case 'COMMITTED': return 'command';
    case 'PUBLISHED': case 'NOT_PUBLISHED': case 'FAILED': case 'CLAIMED': case 'REPUBLISHED': case 'JOB_PART': return 'relay';
    case 'NOTIFIED': case 'NOTIFICATION': return `fanout:${stage.audience}`;
    default: return stage.channel ? `${stage.channel} to ${stage.user_id}` : stage.consumer ?? 'relay';
  }
}

/** The same story with what belongs together as one: a send that got through with its attempt and its provider's answer, and
    a group that was told with those who were. */
export function folded(story) {
  const of = (stage) => `${stage.notification_id} ${stage.channel}`;
  const sent = new Set(story.filter((stage) => stage.stage === 'SENT').map(of));
  const receipts = story.filter((stage) => stage.stage === 'PROVIDER_RECEIPT');
  const isPart = (stage) => {
    if (stage.stage === 'SEND_ATTEMPT') return stage.outcome === 'sent' && sent.has(of(stage));
    if (stage.stage === 'PROVIDER_RECEIPT') return sent.has(of(stage));
    return stage.stage === 'NOTIFIED' && !stage.read_by && !stage.handled_by;
  };
  return story.filter((stage) => !isPart(stage)).map((stage) => (stage.stage !== 'SENT' ? stage : {
    ...stage,
    receipts: receipts.filter((it) => of(it) === of(stage)).map((it) => [it.provider, it.provider_message_id].filter(Boolean).join(' ')),
  }));
}

/** Whether nothing more is to be expected soon. */
export function isSettled({ status, story }) {
  return (status === 'PUBLISHED' || status === 'FAILED') && !story.some((stage) => tone(stage) === 'open');
}
