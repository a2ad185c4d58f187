// Copying a text.

import { h } from './dom.js';
import { icon } from './icons.js';
import { notify } from './notices.js';

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    notify('Copied.', 'good');
  } catch {
    notify('The browser does not allow copying here.', 'bad');
  }
}

export function copyButton(text, label) {
  return h('button', { type: 'button', class: 'icon-button small', 'aria-label': label, title: label, onclick: () => copy(text) }, icon('copy'));
}
