// How long ago something was, as an element whose words are kept true in place: a row that were drawn anew for them would lose
// its focus, and the click that is under way.

import { h, say } from './dom.js';
import { ago, moment } from './format.js';

/** Not read out each time it changes. */
export function timeAgo(time) {
  return h('time', { class: 'ago', datetime: time, title: moment(time), 'aria-live': 'off' }, ago(time));
}

/** “Just now” does not stay true. */
export function refreshAgo(root) {
  for (const element of root.querySelectorAll('time.ago')) say(element, ago(element.dateTime));
}
