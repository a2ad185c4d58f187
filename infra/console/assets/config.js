// The settings of this console: `config.json` beside the page. The local host says `{"local": true}`; a deployment names the
// API where it is elsewhere, the dashboard and the identity provider.

/** What a page may do that only a laptop offers. */
export let config = { api: '', local: false, dashboard: null, sign_in: null };

export async function loadConfig() {
  const response = await fetch('config.json', { cache: 'no-cache' });
  if (!response.ok) throw new Error(`config.json: HTTP ${response.status}`);
  const said = await response.json();
  config = {
    // Paths are put behind it, which begin with a `/`.
    api: (address(said.api, 'api') ?? '').replace(/\/$/, ''),
    local: said.local === true,
    dashboard: address(said.dashboard, 'dashboard'),
    sign_in: said.sign_in ? signIn(said.sign_in) : null,
  };
}

/** A misspelt address would send tokens somewhere. */
function address(text, name) {
  if (!text) return null;
  const url = new URL(text, location.href);
  if (url.protocol !== 'https:' && url.hostname !== 'localhost' && url.hostname !== '127.0.0.1') {
    throw new Error(`config.json: ${name} must be an https address`);
  }
  return url.href;
}

function signIn({ authorize_url, token_url, client_id, scopes, audience }) {
  if (!authorize_url || !token_url || !client_id) {
    throw new Error('config.json: sign_in needs authorize_url, token_url and client_id');
  }
  return {
    authorize_url: address(authorize_url, 'sign_in.authorize_url'),
    token_url: address(token_url, 'sign_in.token_url'),
    client_id: String(client_id),
    scopes: Array.isArray(scopes) ? scopes.join(' ') : String(scopes ?? 'openid'),
    audience: audience ? String(audience) : null,
  };
}
