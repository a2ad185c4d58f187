// Pages by the address behind the `#`: `#/events/ID?since=…`. Nothing of it reaches a server.

/** A page: its pattern, its title, and what shows it. */
export class Router {
  #pages;
  #root;
  #leave = new AbortController();
  #path = null;

  constructor(root, pages) {
    this.#root = root;
    this.#pages = pages;
    addEventListener('hashchange', () => this.show());
  }

  /** Shows the page of the address. The signal that it gets is aborted when the next one is shown. */
  show() {
    const { path, parameters } = here();
    this.#leave.abort();
    this.#leave = new AbortController();
    for (const page of this.#pages) {
      const found = matched(page.path, path);
      if (!found) continue;
      document.title = `${page.title} · Belfry`;
      for (const link of document.querySelectorAll('#pages a')) {
        const current = page.path.startsWith(link.hash.slice(1));
        if (current) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
      }
      const stood = document.activeElement?.getAttribute('name') ?? document.activeElement?.getAttribute('href');
      page.show(this.#root, { ...found, parameters, signal: this.#leave.signal });
      if (this.#path === path) this.#standAgain(stood);
      else if (this.#path !== null) this.#arrive();
      this.#path = path;
      return;
    }
    location.replace('#/overview');
  }

  /** Another page: whoever uses the keyboard or listens begins at its top. */
  #arrive() {
    scrollTo(0, 0);
    this.#root.focus({ preventScroll: true });
  }

  /** The same page with another filter: whoever stands on a control stays there. */
  #standAgain(name) {
    if (!name) return;
    const text = CSS.escape(name);
    this.#root.querySelector(`[name="${text}"], a[href="${text}"]`)?.focus({ preventScroll: true });
  }
}

function here() {
  const [path, search = ''] = location.hash.slice(1).split('?');
  return { path: path || '/overview', parameters: new URLSearchParams(search) };
}

function matched(pattern, path) {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return null;
  const found = {};
  for (const [index, part] of wanted.entries()) {
    if (part.startsWith(':')) found[part.slice(1)] = decodeURIComponent(given[index]);
    else if (part !== given[index]) return null;
  }
  return found;
}

/** The address of a page, each part escaped. */
export function link(parts, parameters = {}) {
  const there = Object.entries(parameters).filter(([, value]) => value);
  const search = there.length ? `?${new URLSearchParams(there)}` : '';
  return `#/${parts.map(encodeURIComponent).join('/')}${search}`;
}
