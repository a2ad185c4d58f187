import { accessible, expect, picture, promise, startHost, test, World } from './world.js';

test('a session that has run out asks for a new token, and the page goes on', async ({ page, world }) => {
  const token = await world.token({ sub: 'console', user_type: 'ADMIN_USER', scopes: ['operate'], expires_in: -5 });
  await page.addInitScript((text) => sessionStorage.setItem('belfry.token', text), token);
  await page.goto('/#/dead-letters');
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await expect(dialog).toBeVisible();
  await accessible(page);
  await picture(page, 'session-ended', { fullPage: false });
  // A browser closes on the second Esc, whatever the page says to the first.
  for (let time = 0; time < 3; time += 1) {
    await page.keyboard.press('Escape');
    await expect(dialog).toBeVisible();
  }
  await dialog.getByLabel('Or paste a token').fill('nonsense');
  await dialog.getByRole('button', { name: 'Use this token' }).click();
  await expect(dialog.getByRole('alert')).toContainText('not a token');
  await dialog.getByRole('button', { name: 'Continue as operator' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByText(/No dead letters|dead letter/).first()).toBeVisible();
  expect(page.url()).not.toContain('eyJ');
});

test('Esc leaves who was signed in as they were, and one may ask again', async ({ page }) => {
  await page.goto('/');
  const chip = page.getByRole('button', { name: 'Operator' });
  for (let time = 0; time < 2; time += 1) {
    await chip.click();
    const dialog = page.getByRole('dialog', { name: 'Sign in as somebody else' });
    await expect(dialog).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(dialog).toBeHidden();
  }
  await expect(page.getByRole('row', { name: /Events to publish/ })).toBeVisible();
});

test('a refusal of the old token does not ask for the new one again', async ({ page, world }) => {
  const [sent, given] = [promise(), promise()];
  let calls = 0;
  await page.route('**/v1/overview', async (route) => {
    calls += 1;
    if (calls > 1) return route.continue();
    sent.resolve();
    await given.promise;
    return route.fulfill({ status: 401, json: { code: 'UNAUTHENTICATED', message: 'no valid token' } });
  });
  await page.goto('/');
  await sent.promise;
  await page.getByRole('button', { name: 'Operator' }).click();
  const token = await world.token({ sub: 'console', user_type: 'ADMIN_USER', scopes: ['operate'], name: 'Renewed' });
  await page.getByLabel('Or paste a token').fill(token);
  await page.getByRole('button', { name: 'Use this token' }).click();
  await expect(page.getByRole('button', { name: 'Renewed' })).toBeVisible();
  given.resolve();
  await expect(page.getByRole('row', { name: /Events to publish/ })).toBeVisible();
  await expect(page.getByRole('dialog')).toHaveCount(0);
});

test('a token without the scope is told so, and another can be taken', async ({ page, world }) => {
  await page.goto('/');
  await page.getByRole('button', { name: 'Operator' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign in as somebody else' });
  await dialog.getByLabel('Or paste a token').fill(`Bearer ${await world.token({ sub: 'carla', user_type: 'CUSTOMER', name: 'Carla Conti' })}`);
  await dialog.getByRole('button', { name: 'Use this token' }).click();
  await expect(page.getByRole('button', { name: 'Carla Conti' })).toBeVisible();
  await page.goto('/#/dead-letters');
  await expect(page.getByRole('alert')).toContainText('the scope operate is missing');
  await picture(page, 'forbidden');
});

test('without the API the page says so, and finds back by itself', async ({ page }) => {
  const first = await startHost();
  const port = new URL(first.url).port;
  await page.goto(`${first.url}/`);
  await expect(page.locator('[data-count=accepted]')).not.toHaveText('0');
  await first.stop();
  await expect(page.getByText(/No connection: .* Retrying/)).toBeVisible();
  await picture(page, 'no-contact');
  await page.goto(`${first.url}/#/dead-letters`).catch(() => {});
  const second = await startHost(port);
  try {
    // Another host has another secret: the old token is no good there.
    await page.goto(`${second.url}/#/overview`);
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByRole('button', { name: 'Continue as operator' }).click();
    await expect(page.locator('[data-count=accepted]')).toBeVisible();
    const away = new World(second.url);
    expect((await away.call('GET', '/health')).status).toBe(200);
  } finally {
    await second.stop();
  }
});
