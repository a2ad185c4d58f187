import { expect, picture, test } from './world.js';

const MARKUP = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>';

test('what users write is shown as text wherever it is shown', async ({ page, world }) => {
  const token = await world.operator();
  const title = `${MARKUP} & <b>bold</b>`;
  await world.announce('<svg/onload=p()>', { title, body: MARKUP, audience: 'CUSTOMER', user_id: 'carla' });
  await world.call('PUT', '/v1/recipients/RESTAURANT_USER/mallory', { token, body: { name: MARKUP, restaurant_id: 'trattoria' } });
  await world.inject('redrives', MARKUP);
  await world.idle();

  const untouched = async () => {
    expect(await page.evaluate(() => window.pwned)).toBeUndefined();
    await expect(page.locator('main img, main script, main b, main svg[onload]')).toHaveCount(0);
  };
  await page.goto('/#/inbox?as=CUSTOMER:carla');
  await expect(page.getByText(title, { exact: true })).toBeVisible();
  await picture(page, 'injection-inbox');
  await untouched();
  await page.goto('/#/events?by=user&user_type=CUSTOMER&user_id=carla');
  await page.getByRole('link', { name: title }).click();
  await expect(page.getByRole('heading', { level: 1, name: /Announcement/ })).toBeVisible();
  await expect(page.getByRole('link', { name: '<svg/onload=p()>' }).first()).toBeVisible();
  await untouched();
  await page.goto('/#/dead-letters?queue=redrives');
  await page.getByRole('link', { name: 'Details' }).first().click();
  await expect(page.getByText(MARKUP)).toBeVisible();
  await untouched();
  await page.goto(`/#/events?by=aggregate&aggregate_type=${encodeURIComponent(MARKUP)}&aggregate_id=x`);
  await expect(page.getByLabel('Aggregate type')).toHaveValue(MARKUP);
  await untouched();

  // A name of a colleague who acts.
  const rosa = await page.context().newPage();
  await rosa.goto('/#/inbox?as=RESTAURANT_USER:rosa');
  await world.reserve('injected');
  await world.idle();
  const mallory = await world.token({ sub: 'mallory', user_type: 'RESTAURANT_USER' });
  const { json } = await world.call('GET', '/v1/inbox', { token: mallory });
  const path = `/v1/notifications/${json.notifications[0].notification_id}/actions`;
  expect((await world.call('POST', path, { token: mallory, key: 'm', body: { action_type: 'DISMISSED' } })).status).toBe(200);
  await expect(rosa.getByText(`Handled by ${MARKUP}`)).toBeVisible();
  expect(await rosa.evaluate(() => window.pwned)).toBeUndefined();
  await world.call('DELETE', '/v1/recipients/RESTAURANT_USER/mallory', { token });
});

test('markup that got in anyhow would not run', async ({ page, complaints }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  const refused = await page.evaluate(() => {
    try {
      document.body['inner' + 'HTML'] = '<p>';
      return false;
    } catch {
      return true;
    }
  });
  expect(refused).toBe(true);
  expect(complaints.splice(0).join()).toContain('policy: require-trusted-types-for');
});
