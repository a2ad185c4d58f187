// What every test begins with: a host of its own, pages that are watched for whatever a browser complains of, and helpers to
// make things happen behind the page's back.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import AxeBuilder from '@axe-core/playwright';
import { test as base, expect } from '@playwright/test';

const BINARY = process.env.BELFRY_BIN ?? fileURLToPath(new URL('../../target/debug/belfry', import.meta.url));
const SHOTS = fileURLToPath(new URL('../../target/screenshots/', import.meta.url));
mkdirSync(SHOTS, { recursive: true });

/** Starts the host; resolves when it can serve. */
export async function startHost(port = 0) {
  const child = spawn(BINARY, ['--port', String(port), '--demo'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const url = await new Promise((ready, refuse) => {
    child.once('error', refuse);
    child.once('exit', (code) => refuse(new Error(`the host ended with ${code}`)));
    child.stdout.on('data', (text) => {
      const found = /ready on (http:\S+)/.exec(String(text));
      if (found) ready(found[1]);
    });
  });
  child.removeAllListeners('exit');
  const gone = new Promise((done) => { child.once('exit', done); });
  return { url, stop: () => { child.kill('SIGKILL'); return gone; } };
}

/** A host, and what can be done to it without a page. */
export class World {
  constructor(url) {
    this.url = url;
  }

  async call(method, path, { body, token, key } = {}) {
    const headers = { 'content-type': 'application/json' };
    if (token) headers.authorization = `Bearer ${token}`;
    if (key) headers['idempotency-key'] = key;
    const answer = await fetch(this.url + path, { method, headers, body: body && JSON.stringify(body) });
    return { status: answer.status, json: await answer.json().catch(() => null) };
  }

  async token(claims) {
    return (await this.call('POST', '/local/tokens', { body: claims })).json.token;
  }

  operator() {
    const scopes = ['commands:write', 'events:write', 'recipients:write', 'operate'];
    return this.token({ sub: 'console', user_type: 'ADMIN_USER', name: 'Operator', scopes });
  }

  /** Hands an announcement in. */
  async announce(eventId, payload) {
    const event = { event_id: eventId, event_type: 'Announcement', aggregate_type: 'Notice', aggregate_id: eventId, payload };
    const { status, json } = await this.call('POST', '/v1/events', { token: await this.operator(), body: event });
    expect(status, JSON.stringify(json)).toBe(202);
  }

  async reserve(key, restaurant = 'trattoria') {
    const body = { customer_id: 'carla', restaurant_id: restaurant, party_size: 2, slot_time: '2035-05-04T18:30:00Z' };
    const { status, json } = await this.call('POST', '/v1/reservations', { token: await this.operator(), key, body });
    expect(status, JSON.stringify(json)).toBe(201);
    return json.reservation_id;
  }

  fault(target, mode, times) {
    return this.#must('POST', '/local/faults', { target, mode, times });
  }

  inject(queue, body) {
    return this.#must('POST', '/local/inject', { queue, body });
  }

  /** Until all that was set going is done; a host that does not come to rest fails the test. */
  idle() {
    return this.#must('GET', '/local/idle?timeout=60');
  }

  async #must(method, path, body) {
    const { status, json } = await this.call(method, path, { body });
    expect(status, `${path} ${JSON.stringify(json)}`).toBe(200);
  }
}

/** Fails the test for whatever the browser complains of: errors, and breaches of the content security policy. An answer
    that is a refusal, or none at all, is the API's and not the page's. */
export function watched(page, complaints) {
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    const network = /Failed to load resource|WebSocket connection to .* failed|net::ERR_/.test(message.text());
    if (['error', 'warning'].includes(message.type()) && !network) complaints.push(`${message.type()}: ${message.text()}`);
  });
}

export const test = base.extend({
  host: [async ({}, use) => {
    const host = await startHost();
    await use(host);
    await host.stop();
  }, { scope: 'worker' }],
  world: async ({ host }, use) => use(new World(host.url)),
  // What the test before set going is done: a fault of this one would strike it.
  calm: [async ({ host }, use) => {
    await new World(host.url).idle();
    await use();
  }, { auto: true }],
  baseURL: async ({ host }, use) => use(host.url),
  complaints: async ({}, use) => {
    const complaints = [];
    await use(complaints);
    expect(complaints).toEqual([]);
  },
  context: async ({ context, complaints }, use) => {
    context.on('page', (page) => watched(page, complaints));
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
      });
    });
    await use(context);
  },
});

export { expect };

/** A promise for others to keep. */
export function promise() {
  const made = {};
  made.promise = new Promise((resolve) => { made.resolve = resolve; });
  return made;
}

/** Keeps a picture for people to look at, in `target/screenshots`. */
export async function picture(page, name, options = {}) {
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${SHOTS}${name}.png`, fullPage: true, animations: 'disabled', ...options });
}

/** What a machine can tell of whether everybody can use the page: names, roles, contrast. */
export async function accessible(page) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
  expect(found).toEqual([]);
}
