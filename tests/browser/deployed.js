// The console as a deployment has it: static files with a config.json of their own, the API behind the same address as
// CloudFront has it, and an identity provider that asks for PKCE. In front of a local host, whose tokens it hands out.

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, request as forward } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../infra/console', import.meta.url));
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml', '.json': 'application/json' };
const FORWARDED = /^\/(v1|debug|schemas|local|openapi\.json|health)(\/|\?|$)/;

/** Serves the console in front of `host`; `config` is made of the server's own address. */
export async function deploy(host, config) {
  const asked = [];
  const codes = new Map();
  const policy = (await fetch(`${host}/`)).headers.get('content-security-policy');
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, address());
    if (FORWARDED.test(request.url)) return pass(host, request, response);
    if (url.pathname === '/authorize') return authorize(url, response);
    if (url.pathname === '/token') return token(request, response);
    const path = url.pathname === '/' ? '/index.html' : normalize(url.pathname);
    const body = path === '/config.json' ? JSON.stringify(config(address())) : await readFile(join(FOLDER, path)).catch(() => null);
    if (body === null) return response.writeHead(404).end();
    response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain', 'content-security-policy': policy });
    return response.end(body);
  });

  /** A person who says yes at once. */
  function authorize(url, response) {
    const said = Object.fromEntries(url.searchParams);
    asked.push(said);
    const code = randomBytes(8).toString('hex');
    codes.set(code, said);
    const back = new URL(said.redirect_uri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', said.state);
    response.writeHead(302, { location: back.href }).end();
  }

  /** A token for the code, if whoever asks has the verifier of the challenge. */
  async function token(request, response) {
    let text = '';
    for await (const chunk of request) text += chunk;
    const said = Object.fromEntries(new URLSearchParams(text));
    const begun = codes.get(said.code);
    codes.delete(said.code);
    const challenge = createHash('sha256').update(said.code_verifier ?? '').digest('base64url');
    const good = begun && begun.code_challenge === challenge && begun.client_id === said.client_id && begun.redirect_uri === said.redirect_uri;
    response.writeHead(good ? 200 : 400, { 'content-type': 'application/json' });
    response.end(JSON.stringify(good ? { access_token: await issued(host, begun.scope) } : { error: 'invalid_grant' }));
  }

  await new Promise((ready) => server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', ready));
  const address = () => `http://127.0.0.1:${server.address().port}`;
  return { url: address(), asked, close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }) };
}

function pass(host, request, response) {
  const { hostname, port } = new URL(host);
  const on = forward({ hostname, port, path: request.url, method: request.method, headers: request.headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  on.on('error', () => response.writeHead(502).end());
  request.pipe(on);
}

async function issued(host, scopes) {
  const body = JSON.stringify({ sub: 'omar', user_type: 'ADMIN_USER', name: 'Omar Orsi', scopes: scopes.split(' ') });
  const answer = await fetch(`${host}/local/tokens`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return (await answer.json()).token;
}
