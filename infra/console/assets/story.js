// An event's story as it goes on: asked for again and again, quickly while something happens.

import { get } from './api.js';
import { fill, h } from './dom.js';
import { every } from './polling.js';
import { link } from './router.js';
import { isSettled } from './stages.js';
import { failed, loading, stale } from './states.js';
import { copyButton } from './copy.js';
import { duration, shortId, spaced } from './format.js';
import { timeline } from './timeline.js';

const QUICK_MS = 700;
const SLOW_MS = 4000;
/** How long after the last change something may still be under way that the story does not know of yet. */
const LINGER_MS = 8000;

/** Shows a story in `root` until the signal says otherwise; `onStory` hears of each new state of it. */
export function followStory(root, session, eventId, { signal, onStory, heading = 'h2' }) {
  const trouble = h('div', {});
  const head = h('div', { class: 'story-head' });
  const drawn = timeline();
  const more = h('p', { class: 'quiet' });
  let seen = null;
  let changedAt = Date.now();
  fill(root, loading('Loading the story…'));
  const step = async () => {
    const story = await get(session, `/v1/events/${encodeURIComponent(eventId)}`, signal);
    const state = JSON.stringify(story);
    if (seen === null) fill(root, trouble, head, drawn.element, more);
    if (state !== seen) changedAt = Date.now();
    const news = state !== seen;
    seen = state;
    fill(trouble);
    const calm = isSettled(story) && Date.now() - changedAt > LINGER_MS;
    if (news || head.dataset.calm !== String(calm)) {
      head.dataset.calm = String(calm);
      showHead(head, story, calm, heading);
    }
    drawn.show(story.story);
    fill(more, story.more_sends ? 'Not all sends are shown.' : null);
    if (news) onStory?.(story);
  };
  let next = 0;
  every(QUICK_MS, signal, async () => {
    if (Date.now() < next) return;
    try {
      await step();
      next = head.dataset.calm === 'true' ? Date.now() + SLOW_MS : 0;
    } catch (problem) {
      if (signal.aborted) return;
      if (seen === null) fill(root, failed(problem, null));
      else fill(trouble, stale(problem));
      // What is not there may come; but not at once.
      next = Date.now() + SLOW_MS;
    }
  });
}

function showHead(root, story, calm, heading) {
  const times = story.story.map((stage) => Date.parse(stage.at));
  const tone = { PUBLISHED: 'good', FAILED: 'bad' }[story.status] ?? 'open';
  fill(root,
    h(heading, { class: 'story-title' }, spaced(story.event_type ?? 'Unreadable entry'),
      h('span', { class: `badge ${tone}` }, story.status),
      h('span', { class: `live-dot ${calm ? 'calm' : 'live'}` }, calm ? 'complete' : 'live')),
    h('dl', { class: 'facts' },
      fact('Event', h('span', {}, h('a', { class: 'mono', href: link(['events', story.event_id]), title: story.event_id }, shortId(story.event_id)),
        copyButton(story.event_id, 'Copy the event id'))),
      story.aggregate_type && fact(story.aggregate_type,
        h('a', { class: 'mono', href: link(['events'], { by: 'aggregate', aggregate_type: story.aggregate_type, aggregate_id: story.aggregate_id }) },
          shortId(story.aggregate_id))),
      fact('Duration', duration(Math.max(...times) - Math.min(...times))),
      story.trace_id && fact('Trace', h('span', {}, h('span', { class: 'mono', title: story.trace_id }, shortId(story.trace_id)),
        copyButton(story.trace_id, 'Copy the trace id')))));
}

function fact(name, value) {
  return h('div', {}, h('dt', {}, name), h('dd', {}, value));
}
