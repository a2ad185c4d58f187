import { accessible, expect, picture, test } from './world.js';

test('an event is found by aggregate, user, key and id, and its story leads on', async ({ page, world }) => {
  const token = await world.operator();
  const grant = { user_id: 'carla', stock_keeping_unit: 'found', reason: 'PURCHASE', purchase_id: 'p' };
  await world.call('POST', '/v1/entitlements/grants', { token, key: 'find-me', body: grant });
  await world.idle();

  await page.goto('/');
  await page.getByRole('link', { name: 'Events' }).click();
  await expect(page.getByText('The story of an event: from the command')).toBeVisible();
  await picture(page, 'events-empty');

  await page.getByRole('link', { name: 'Idempotency key' }).click();
  await page.getByLabel('Key', { exact: true }).fill('find-me');
  await page.getByLabel('Caller').fill('console');
  await page.getByRole('button', { name: 'Search' }).click();
  await expect(page.getByRole('heading', { name: 'Response 200' })).toBeVisible();
  await accessible(page);

  await page.getByRole('definition').getByRole('link').click();
  await expect(page.getByRole('heading', { level: 1, name: /Entitlement granted/ })).toBeVisible();
  await expect(page.getByText('Committed by console')).toBeVisible();
  await expect(page.getByText('Published to every subscribed queue')).toBeVisible();
  await expect(page.getByText('Processed by fanout:CUSTOMER')).toBeVisible();
  await expect(page.getByText('EMAIL to carla sent')).toBeVisible();
  await accessible(page);
  const id = decodeURIComponent(page.url().split('/').at(-1));

  // Both ways: to the aggregate and back, to the user and back.
  await page.getByRole('link', { name: 'carla#found' }).click();
  await page.getByRole('link', { name: 'Entitlement granted' }).click();
  await page.getByRole('link', { name: 'Notifications of carla' }).click();
  await expect(page.getByText('found is yours')).toBeVisible();
  await expect(page.getByText('EMAIL sent').first()).toBeVisible();
  await picture(page, 'events-user');
  await page.getByRole('link', { name: 'found is yours' }).click();
  await expect(page).toHaveURL(new RegExp(id));

  await page.getByRole('link', { name: 'Events' }).first().click();
  await page.getByLabel('Event id').fill(` ${id} `);
  await page.getByRole('button', { name: 'Search' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /Entitlement granted/ })).toBeVisible();
});

test('what is not there says so', async ({ page }) => {
  await page.goto('/#/events/no-such-event');
  await expect(page.getByRole('alert')).toContainText('no such event');
  await page.goto('/#/events?by=aggregate&aggregate_type=Order&aggregate_id=none');
  await expect(page.getByText('No events for this aggregate.')).toBeVisible();
  await page.goto('/#/events?by=user&user_type=CUSTOMER&user_id=stranger');
  await expect(page.getByText('No notifications for stranger.')).toBeVisible();
  await page.goto('/#/events?by=key&key=k&caller=nobody');
  await expect(page.getByRole('alert')).toContainText('no such key');
  await page.goto('/#/nowhere');
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
});

test('a reservation’s story has a lane for everybody who had a part in it', async ({ page, world }) => {
  const token = await world.operator();
  const id = await world.reserve('story-lanes');
  await world.idle();
  const { json } = await world.call('GET', `/v1/events?aggregate_type=Reservation&aggregate_id=${id}`, { token });
  await page.goto(`/#/events/${json.events[0].event_id}`);
  await expect(page.getByText('Processed by fanout:RESTAURANT_USER')).toBeVisible();
  await expect(page.getByText('SMS to rosa sent')).toBeVisible();
  await expect(page.getByText('SLACK to omar sent')).toBeVisible();
  await expect(page.locator('.lane-name', { hasText: 'PUSH to carla' })).toBeVisible();
  await page.getByText(/sends skipped/).click();
  await expect(page.getByText(/PUSH to rosa: /)).toBeVisible();
  await picture(page, 'story-reservation');
});
