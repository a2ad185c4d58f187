// What an operator has set going, as it happens: one line each, from asked to done.

import { h } from './dom.js';
import { moment } from './format.js';

/** A list of lines; `add(title)` gives one that can be told how it goes: `say(text, tone)`, tone open, good or bad. */
export function activity(title) {
  const lines = h('ol', { class: 'activity', role: 'log', 'aria-live': 'polite' });
  const element = h('section', { class: 'card', hidden: true }, h('h2', {}, title), lines);
  return {
    element,
    add(what, href) {
      element.hidden = false;
      const state = h('span', { class: 'activity-state' });
      const line = h('li', { class: 'open' }, h('time', { class: 'quiet' }, moment(Date.now())),
        h('span', { class: 'activity-what' }, href ? h('a', { href }, what) : what), state);
      lines.prepend(line);
      return {
        say(text, tone = 'open') {
          line.className = tone;
          state.textContent = text;
        },
      };
    },
  };
}
