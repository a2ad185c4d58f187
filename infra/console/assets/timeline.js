// A story drawn: one lane for each who had a part in it, one dot for each stage, over a time that is stretched where much
// happens and squeezed where everybody waits; and below it the same as a list, with every duration.

import { fill, h, keyed, say } from './dom.js';
import { duration, moment, shortId } from './format.js';
import { link } from './router.js';
import { folded, laneOf, reason, sentence, tone } from './stages.js';

/** A timeline that can be shown again as the story goes on. */
export function timeline() {
  const lanes = h('div', { class: 'lanes', 'aria-hidden': 'true' });
  const list = h('ol', { class: 'stages' });
  const skipped = h('div', {});
  return {
    element: h('div', { class: 'timeline' }, lanes, list, skipped),
    show(story) {
      const shown = folded(story.filter((stage) => stage.stage !== 'SKIPPED'));
      drawnAnew(lanes, [shown, lanes.clientWidth], () => drawLanes(lanes, shown));
      const first = Date.parse(story[0]?.at);
      let before = first;
      keyed(list, shown.map((stage, index) => {
        const at = Date.parse(stage.at);
        const since = at - before;
        before = at;
        return { key: `${index}-${stage.stage}`, state: [stage, since], make: () => item(stage, at - first, since) };
      }));
      // What waits counts down: its words change with the time, and its row stays.
      shown.forEach((stage, index) => say(list.children[index].querySelector('.stage-words'), sentence(stage)));
      const left = story.filter((stage) => stage.stage === 'SKIPPED');
      drawnAnew(skipped, left, () => showSkipped(skipped, left));
    },
  };
}

/** Draws a part where what it shows has changed, and leaves it alone where it has not. */
function drawnAnew(root, state, draw) {
  const text = JSON.stringify(state);
  if (root.dataset.seen === text) return;
  root.dataset.seen = text;
  draw();
}

function item(stage, offset, since) {
  const why = reason(stage);
  return h('li', { class: `stage ${tone(stage)}` },
    h('time', { class: 'stage-time', datetime: stage.at, title: moment(stage.at) }, `+${duration(offset)}`),
    h('div', { class: 'stage-body' },
      h('p', { class: 'stage-title' }, h('span', { class: 'stage-words' }, sentence(stage)),
        since >= 1 && h('span', { class: 'since', title: 'since the previous stage' }, duration(since))),
      why && h('p', { class: 'stage-reason' }, why),
      links(stage)));
}

function links(stage) {
  const found = [
    stage.dead_letter_id && h('a', { href: link(['dead-letters', stage.dead_letter_id]) }, 'Dead letter'),
    stage.stage === 'NOTIFICATION'
      && h('a', { href: link(['events'], { by: 'user', user_type: stage.audience, user_id: stage.user_id }) },
        `Notifications of ${stage.user_id}`),
  ].filter(Boolean);
  return found.length ? h('p', { class: 'stage-links' }, found) : null;
}

function showSkipped(root, skipped) {
  if (skipped.length === 0) return fill(root);
  const open = root.querySelector('details')?.open ?? false;
  return fill(root, h('details', { class: 'skipped', open },
    h('summary', {}, `${skipped.length} ${skipped.length === 1 ? 'send' : 'sends'} skipped`),
    h('ul', {}, skipped.map((stage) => h('li', {}, `${stage.channel} to ${stage.user_id}: ${stage.reason ?? 'no reason given'}`)))));
}

function drawLanes(root, story) {
  const places = positions(story.map((stage) => Date.parse(stage.at)));
  const lanes = new Map();
  story.forEach((stage, index) => {
    const name = laneOf(stage);
    if (!lanes.has(name)) lanes.set(name, []);
    lanes.get(name).push({ stage, left: places[index] });
  });
  fill(root, [...lanes].map(([name, dots]) => {
    const from = Math.min(begun(dots[0].stage, story, places), dots[0].left);
    const last = dots.at(-1);
    const bar = placed(h('span', { class: `lane-bar ${tone(last.stage)}` }), from);
    bar.style.width = `${last.left - from}%`;
    return h('div', { class: 'lane' }, h('span', { class: 'lane-name', title: name }, name),
      h('span', { class: 'lane-track' }, bar, dots.map(({ stage, left }) =>
        placed(h('span', { class: `lane-dot ${tone(stage)}`, title: sentence(stage) }), left))));
  }), axis(story, places, root.clientWidth * 0.75 || 600));
}

/** Where a lane's work began: a send's when its notification was there, everybody else's with what came before. */
function begun(stage, story, places) {
  const from = stage.channel
    ? story.findIndex((it) => it.stage === 'NOTIFICATION' && it.notification_id === stage.notification_id)
    : story.findIndex((it) => it.stage === (laneOf(stage) === 'relay' ? 'COMMITTED' : 'PUBLISHED'));
  return places[from] ?? Infinity;
}

function axis(story, places, width) {
  const least = Math.max(9, 6500 / Math.max(width, 1));
  const times = story.map((stage) => Date.parse(stage.at));
  const marks = [];
  for (let index = 1; index < times.length; index += 1) {
    const gap = places[index] - places[index - 1];
    if (gap >= least) {
      marks.push(placed(h('span', { class: 'axis-mark' }, duration(times[index] - times[index - 1])),
        (places[index] + places[index - 1]) / 2));
    }
  }
  return h('div', { class: 'lane axis' }, h('span', { class: 'lane-name' }, 'time'), h('span', { class: 'lane-track' }, marks));
}

/** Where each moment stands, in per cent: gaps count by their logarithm, so that milliseconds and minutes both show. */
function positions(times) {
  let total = 0;
  const sums = times.map((time, index) => {
    if (index > 0) total += Math.log1p(Math.max(time - times[index - 1], 0)) ** 1.5 + 0.4;
    return total;
  });
  return sums.map((sum) => 1.5 + (total ? (sum / total) * 97 : 0));
}

function placed(element, left) {
  element.style.left = `${left}%`;
  return element;
}

export function idLink(id) {
  return h('a', { href: link(['events', id]), class: 'mono', title: id }, shortId(id));
}
