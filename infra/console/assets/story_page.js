// One event's page.

import { fill, h } from './dom.js';
import { followStory } from './story.js';

export function showStory(root, { session, id, signal }) {
  const story = h('section', { class: 'card', 'aria-live': 'off' });
  fill(root, h('p', { class: 'crumbs' }, h('a', { href: '#/events' }, 'Events')), story);
  followStory(story, session, id, { signal, heading: 'h1' });
}
