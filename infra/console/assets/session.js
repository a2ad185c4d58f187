// Who is signed in. The token lives in this tab (`sessionStorage`), never in an address; two windows can be two people.

const STORED = 'belfry.token';

/** Somebody's token, and how to get a new one when it has run out. */
export class Session extends EventTarget {
  #renewing = null;

  /** `renew(reason)` resolves to a new token. */
  constructor(renew, token = null) {
    super();
    this.renew = renew;
    this.token = token;
  }

  get claims() {
    return claimsOf(this.token);
  }

  get hasRunOut() {
    const { exp } = this.claims;
    return !this.token || (typeof exp === 'number' && exp * 1000 <= Date.now());
  }

  /** What the token allows: `scope`, or `scp` where a provider calls it that, as words or as a list. */
  get scopes() {
    const { scope, scp } = this.claims;
    return [scope ?? scp ?? ''].flat().join(' ').split(/[\s,]+/).filter(Boolean);
  }

  set(token) {
    this.token = token;
    this.dispatchEvent(new Event('change'));
  }

  /** Asks for a new token, once however many requests found the old one wanting. */
  refresh(reason) {
    this.#renewing ??= this.renew(reason).then((token) => this.set(token)).finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  /** Asks for a token where there is none, or none that is good any more. */
  async ready() {
    if (this.hasRunOut) await this.refresh(this.token ? 'ended' : 'none');
  }
}

/** What a token says of its holder; for showing it only, the gateway checks. */
export function claimsOf(token) {
  try {
    const payload = token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
}

/** The session of this tab, as it was before the page was loaded again. */
export function storedSession(renew) {
  const session = new Session(renew, sessionStorage.getItem(STORED));
  session.addEventListener('change', () => {
    if (session.token) sessionStorage.setItem(STORED, session.token);
    else sessionStorage.removeItem(STORED);
  });
  return session;
}
