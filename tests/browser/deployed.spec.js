import { deploy } from './deployed.js';
import { accessible, expect, picture, test } from './world.js';

const DASHBOARD = 'https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#dashboards:name=belfry';

test('a deployed console signs in with PKCE and does without what only a laptop has', async ({ page, host }) => {
  const deployed = await deploy(host.url, (url) => ({
    api: '', dashboard: DASHBOARD,
    sign_in: { authorize_url: `${url}/authorize`, token_url: `${url}/token`, client_id: 'console', scopes: ['operate'] },
  }));
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  try {
    await page.goto(`${deployed.url}/#/overview`);
    await page.getByRole('button', { name: 'Sign in with your identity provider' }).click();
    await expect(page.getByRole('button', { name: 'Omar Orsi' })).toBeVisible();
    await expect(page.getByRole('row', { name: /Events to publish/ })).toBeVisible();
    await expect(page.getByRole('link', { name: 'Open the dashboard' })).toHaveAttribute('href', DASHBOARD);
    await expect(page.getByRole('img', { name: /^To publish, last 5 minutes/ })).toBeVisible();
    await accessible(page);
    await picture(page, 'deployed-overview');
    expect(new URL(page.url()).search, 'the code is gone from the address').toBe('');
    expect(deployed.asked[0]).toMatchObject({ response_type: 'code', client_id: 'console', scope: 'operate', code_challenge_method: 'S256' });
    await page.getByRole('link', { name: 'Inbox' }).click();
    await expect(page.getByRole('region', { name: 'Omar Orsi' })).toContainText('Welcome to Belfry');
    await page.getByRole('link', { name: 'Try it' }).click();
    await expect(page.getByRole('heading', { name: 'Provider faults' })).toBeHidden();
    // An answer to a question that this tab never asked.
    await page.goto(`${deployed.url}/?code=stolen&state=guessed`);
    await expect(page.getByRole('alert')).toContainText('not started in this tab');
    expect(asked.filter((url) => new URL(url).pathname.startsWith('/local'))).toEqual([]);
    expect(asked.filter((url) => url.includes('eyJ')), 'no token in an address').toEqual([]);
  } finally {
    await deployed.close();
  }
});

test('without an identity provider a token is pasted', async ({ page, host, world }) => {
  const deployed = await deploy(host.url, () => ({ api: '', dashboard: null, sign_in: null }));
  try {
    await page.goto(`${deployed.url}/#/dead-letters`);
    await page.getByLabel('Paste a token').fill(await world.operator());
    await page.getByRole('button', { name: 'Use this token' }).click();
    await expect(page.getByRole('button', { name: 'Operator' })).toBeVisible();
    await page.goto(`${deployed.url}/#/overview`);
    await expect(page.getByText('DashboardUrl')).toBeVisible();
  } finally {
    await deployed.close();
  }
});

test('an inbox without a token asks for one, and shows another’s anew', async ({ page, host, world }) => {
  const deployed = await deploy(host.url, () => ({ api: '', dashboard: null, sign_in: null }));
  const paste = async (claims) => {
    await page.getByLabel('Paste a token').fill(await world.token(claims));
    await page.getByRole('button', { name: 'Use this token' }).click();
  };
  const closed = [];
  page.on('websocket', (socket) => socket.on('close', () => closed.push(socket.url())));
  try {
    await page.goto(`${deployed.url}/#/inbox`);
    await expect(page.getByRole('dialog', { name: 'Sign in' })).toBeVisible();
    await paste({ sub: 'carla', user_type: 'CUSTOMER', name: 'Carla Conti' });
    const carla = page.getByRole('region', { name: 'Carla Conti' });
    await expect(carla.getByText('live', { exact: true })).toBeVisible();
    await expect(carla.getByRole('listitem').first()).toBeVisible();
    await expect(carla.getByRole('link', { name: 'Story' })).toHaveCount(0);
    await page.getByRole('button', { name: 'Carla Conti' }).click();
    await paste({ sub: 'omar', user_type: 'ADMIN_USER', scopes: ['operate'] });
    const omar = page.getByRole('region', { name: 'omar' });
    await expect(omar.getByText('live', { exact: true })).toBeVisible();
    await expect(omar.getByRole('listitem').filter({ hasText: 'Welcome to Belfry' }).getByRole('link', { name: 'Story' })).toBeVisible();
    await expect(carla).toHaveCount(0);
    await expect.poll(() => closed.length, 'Carla’s socket is closed').toBe(1);
  } finally {
    await deployed.close();
  }
});
