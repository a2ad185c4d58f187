import { accessible, expect, picture, test } from './world.js';

test('the overview counts as things happen', async ({ page, world }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Overview' })).toHaveAttribute('aria-current', 'page');
  const accepted = page.locator('[data-count=accepted]');
  await expect(accepted).not.toHaveText('0');
  const before = Number(await accepted.textContent());

  const token = await world.operator();
  const grant = { user_id: 'chen', stock_keeping_unit: 'overview', reason: 'r', purchase_id: 'p' };
  for (let time = 0; time < 3; time += 1) {
    await world.call('POST', '/v1/entitlements/grants', { token, key: 'overview', body: grant });
  }
  await expect(async () => expect(Number(await accepted.textContent())).toBeGreaterThan(before)).toPass();
  await expect(page.locator('[data-count=replayed]')).not.toHaveText('0');
  await expect(page.locator('[data-count=sent]')).not.toHaveText('0');
  await expect(page.getByRole('img', { name: /Relay lag over the last 5 minutes/ })).toBeVisible();
  await expect(page.getByText('deliver-email')).toBeVisible();

  await world.inject('fanout-agency-user', 'overview poison');
  await expect(page.getByRole('row', { name: /Open dead letters [1-9]/ })).toBeVisible();
  await accessible(page);
  await picture(page, 'overview');
  await page.getByRole('link', { name: 'Open dead letters' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Dead letters' })).toBeVisible();
});

test('what is served is typed, sealed and in one piece', async ({ request, world }) => {
  const page = await request.get('/');
  expect(page.headers()['content-type']).toBe('text/html; charset=utf-8');
  const policy = page.headers()['content-security-policy'];
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) {
    expect(policy).toContain(part);
  }
  expect(policy).not.toContain('unsafe');
  expect(page.headers()['x-content-type-options']).toBe('nosniff');
  expect(page.headers()['referrer-policy']).toBe('no-referrer');
  const script = await request.get('/assets/main.js');
  expect(script.headers()['content-type']).toBe('text/javascript; charset=utf-8');
  expect((await request.get('/config.json')).ok()).toBe(true);
  expect(await (await request.get('/config.json')).json()).toEqual({ local: true });
  expect((await world.call('GET', '/assets/none.js')).status).toBe(401);
});
