// Signing in at an identity provider: OAuth's authorization code with PKCE (RFC 7636). No secret is in the page, and the token
// never stands in an address: a code does, for a moment, and is no good without the verifier that this tab keeps.

import { Problem } from './api.js';
import { config } from './config.js';

const STORED = 'belfry.signing-in';

/** Leaves for the identity provider. */
export async function beginSignIn() {
  const { authorize_url, client_id, scopes, audience } = config.sign_in;
  const [verifier, state] = [random(), random()];
  sessionStorage.setItem(STORED, JSON.stringify({ verifier, state, hash: location.hash }));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const url = new URL(authorize_url);
  const asked = {
    response_type: 'code', client_id, redirect_uri: redirectUri(), scope: scopes, state,
    code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  if (audience) url.searchParams.set('audience', audience);
  location.assign(url.href);
}

/** The token, where the identity provider has just sent us back; otherwise nothing. */
export async function finishSignIn() {
  const answer = new URLSearchParams(location.search);
  if (!config.sign_in || !(answer.has('code') || answer.has('error'))) return null;
  const begun = JSON.parse(sessionStorage.getItem(STORED) ?? '{}');
  sessionStorage.removeItem(STORED);
  history.replaceState(null, '', location.pathname + (begun.hash ?? ''));
  if (answer.has('error')) throw new Problem('SIGN_IN', `The identity provider refused: ${answer.get('error')}`);
  // An answer to a question of another tab, or of somebody else.
  if (!begun.state || begun.state !== answer.get('state')) {
    throw new Problem('SIGN_IN', 'This sign-in was not started in this tab. Try again.');
  }
  return redeem(answer.get('code'), begun.verifier);
}

async function redeem(code, verifier) {
  const { token_url, client_id } = config.sign_in;
  const body = new URLSearchParams({
    grant_type: 'authorization_code', code, client_id, redirect_uri: redirectUri(), code_verifier: verifier,
  });
  const response = await fetch(token_url, { method: 'POST', body, credentials: 'omit', referrerPolicy: 'no-referrer' });
  const { access_token, error } = await response.json().catch(() => ({}));
  if (!access_token) throw new Problem('SIGN_IN', `The identity provider returned no token${error ? `: ${error}` : ''}.`);
  return access_token;
}

function redirectUri() {
  return location.origin + location.pathname;
}

function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
