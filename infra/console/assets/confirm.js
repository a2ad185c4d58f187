// Asks before something that cannot be taken back.

import { h } from './dom.js';

/** Resolves to whether the answer was yes. */
export function confirmed(title, text, verb, kind = 'primary') {
  return new Promise((done) => {
    const close = (answer) => {
      dialog.close();
      dialog.remove();
      done(answer);
    };
    const dialog = h('dialog', { class: 'dialog', 'aria-labelledby': 'confirm-title', oncancel: () => close(false) },
      h('h2', { id: 'confirm-title' }, title),
      h('p', {}, text),
      h('div', { class: 'row end' },
        h('button', { type: 'button', class: 'button', onclick: () => close(false) }, 'Cancel'),
        h('button', { type: 'button', class: `button ${kind}`, onclick: () => close(true) }, verb)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
