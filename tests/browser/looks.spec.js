import { accessible, expect, picture, test } from './world.js';

const PAGES = [
  ['overview', '/#/overview', 'Overview'], ['events', '/#/events?by=user&user_type=CUSTOMER&user_id=carla', 'Events'],
  ['dead-letters', '/#/dead-letters?status=ALL', 'Dead letters'], ['inbox', '/#/inbox?as=RESTAURANT_USER:rosa,CUSTOMER:carla', 'Inbox'],
  ['try', '/#/try', 'Try it'],
];

async function settled(page, name) {
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  await expect(page.locator('.loading')).toHaveCount(0);
  if (name === 'Inbox') await expect(page.getByText('live', { exact: true })).toHaveCount(2);
}

for (const [name, path, title] of PAGES) {
  test(`${title} on a phone fits its width`, async ({ page, world }) => {
    await world.inject('fanout-customer', `a message that nobody can read, ${'and that is long, '.repeat(20)}`);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(path);
    await settled(page, title);
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    expect(wide[0], 'no sideways scrolling').toBeLessThanOrEqual(wide[1]);
    await expect(page.getByRole('navigation', { name: 'Pages' }).getByRole('link')).toHaveCount(5);
    await picture(page, `phone-${name}`, { fullPage: false });
  });

  test(`${title} in the dark`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto(path);
    await settled(page, title);
    await accessible(page);
    await picture(page, `dark-${name}`);
  });
}

test('a story on a phone, and the colours by choice', async ({ page, world }) => {
  const token = await world.operator();
  const body = { user_id: 'carla', stock_keeping_unit: 'phone', reason: 'r', purchase_id: 'p' };
  await world.call('POST', '/v1/entitlements/grants', { token, key: 'phone', body });
  await world.idle();
  const { json } = await world.call('GET', '/v1/idempotency-keys/phone?caller=console', { token });
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`/#/events/${json.event_ids[0]}`);
  await expect(page.getByText('EMAIL to carla sent')).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await picture(page, 'phone-story');

  const shown = () => page.evaluate(() => getComputedStyle(document.body).color);
  const light = await shown();
  await page.getByRole('button', { name: 'Colours: as the system' }).click();
  await page.getByRole('button', { name: 'Colours: light' }).click();
  expect(await shown()).not.toBe(light);
  await page.reload();
  await expect(page.getByRole('button', { name: 'Colours: dark' })).toBeVisible();
});
