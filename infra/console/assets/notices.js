// Short messages about what has just happened, read out to those who do not look.

import { h } from './dom.js';

const SHOWN_MS = 6000;

/** Says something; `kind` is good, bad or plain. */
export function notify(text, kind = 'plain') {
  const notice = h('p', { class: `notice ${kind}` }, text);
  document.querySelector('#notices').append(notice);
  setTimeout(() => notice.remove(), SHOWN_MS);
}
