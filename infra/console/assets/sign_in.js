// Asks for a token: on a laptop the host issues one, in the cloud the identity provider does, and anybody may paste one.

import { local } from './api.js';
import { config } from './config.js';
import { freshId, h } from './dom.js';
import { beginSignIn } from './pkce.js';
import { claimsOf } from './session.js';

const SCOPES = ['commands:write', 'events:write', 'recipients:write', 'operate'];

const TITLES = { none: 'Sign in', switch: 'Sign in as somebody else', ended: 'Your session has ended' };

let asked = false;

/** Resolves to a new token, however long that takes. */
export async function renewByDialog(reason) {
  // The first time, on a laptop, there is nothing to decide.
  if (reason === 'none' && config.local && !asked) {
    asked = true;
    return operatorToken();
  }
  return new Promise((done, refuse) => openDialog(reason, done, refuse));
}

/** A token of the local host. */
export async function localToken({ sub, user_type, scopes = [], name }) {
  return (await local('POST', 'tokens', { sub, user_type, scopes, name })).token;
}

function operatorToken() {
  return localToken({ sub: 'console', user_type: 'ADMIN_USER', scopes: SCOPES, name: 'Operator' });
}

function openDialog(reason, done, refuse) {
  const problem = h('p', { class: 'problem', role: 'alert' });
  const pasted = h('textarea', { id: freshId('token'), rows: 3, spellcheck: 'false', autocomplete: 'off' });
  const close = (token) => {
    dialog.close();
    dialog.remove();
    done(token);
  };
  const attempt = (step) => async (event) => {
    event.preventDefault();
    problem.textContent = '';
    try {
      const token = await step();
      if (token) close(token);
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const dialog = h('dialog', { class: 'dialog', 'aria-labelledby': 'sign-in-title' },
    h('h2', { id: 'sign-in-title' }, TITLES[reason] ?? TITLES.none),
    h('p', { class: 'quiet' }, reason === 'ended'
      ? 'The token has expired or is no longer accepted. Sign in again to continue where you were.'
      : 'The console uses the API with your token and can do what the token allows.'),
    config.local && h('button', { type: 'button', class: 'button primary', onclick: attempt(operatorToken) },
      'Continue as operator'),
    config.sign_in && h('button', { type: 'button', class: 'button primary', onclick: attempt(beginSignIn) },
      'Sign in with your identity provider'),
    h('form', { class: 'stack', onsubmit: attempt(async () => wellFormed(pasted.value)) },
      h('label', { for: pasted.id }, config.local || config.sign_in ? 'Or paste a token' : 'Paste a token'), pasted,
      h('div', { class: 'row end' },
        reason === 'switch' && h('button', { type: 'button', class: 'button', onclick: () => cancel() }, 'Cancel'),
        h('button', { class: 'button' }, 'Use this token'))),
    problem);
  const cancel = () => {
    dialog.close();
    dialog.remove();
    refuse(new Error('cancelled'));
  };
  // Without a token there is no way back, unless one was there and good.
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault();
    if (reason === 'switch') cancel();
  });
  // A browser closes on the second Esc in a row whatever `cancel` says: the question stays all the same.
  dialog.addEventListener('close', () => {
    if (!dialog.isConnected) return;
    if (reason === 'switch') cancel();
    else dialog.showModal();
  });
  document.body.append(dialog);
  dialog.showModal();
}

function wellFormed(text) {
  const token = text.trim().replace(/^bearer\s+/i, '');
  if (!claimsOf(token).sub) throw new Error('This is not a token: it has no subject.');
  return token;
}
