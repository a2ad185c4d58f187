import { accessible, expect, picture, test } from './world.js';

test('a grant, the same key again, and the same as curl', async ({ page }) => {
  await page.goto('/#/try');
  await accessible(page);
  await page.getByLabel('Unit').fill('tried');
  await page.getByLabel('Idempotency-Key').fill("key-'1'");
  await expect(page.getByLabel('The request as curl')).toContainText("-H 'idempotency-key: key-'\\''1'\\'''");
  await expect(page.getByLabel('The request as curl')).toContainText('Bearer $TOKEN');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  const answers = page.getByRole('region', { name: 'Responses' }).getByRole('listitem');
  await expect(answers.first()).toContainText('200');
  await expect(answers.first()).toContainText('"status": "ACTIVE"');
  await expect(page.getByText('EMAIL to carla sent')).toBeVisible();
  await page.getByRole('button', { name: 'Send again with the same key' }).click();
  await expect(answers).toHaveCount(2);
  await expect(answers.first()).toContainText('replayed');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(answers.first()).toContainText('ENTITLEMENT_STATE_CONFLICT');
  await picture(page, 'try-it');
});

test('a reservation, an order and an event of one’s own', async ({ page }) => {
  await page.goto('/#/try');
  const answers = page.getByRole('region', { name: 'Responses' }).getByRole('listitem');
  for (const [tab, expected, next] of [
    ['Reservation', '"status": "REQUESTED"', /In the inbox of rosa/],
    ['Order', '"status": "PLACED"', /Processed by inventory/],
    ['Your event', '"duplicate": false', /In the inbox of carla/],
  ]) {
    await page.getByRole('link', { name: tab }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await expect(answers.first()).toContainText(expected);
    await expect(page.getByText(next)).toBeVisible();
  }
  await page.getByRole('button', { name: 'Send again with the same id' }).click();
  await expect(answers.first()).toContainText('"duplicate": true');
  await page.getByLabel('User').fill('');
  await page.getByRole('button', { name: 'New id' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(answers.first()).toContainText('400');
});

test('an email provider that fails twice is retried within seconds', async ({ page }) => {
  await page.goto('/#/try');
  await page.getByRole('button', { name: /An email provider that fails twice/ }).click();
  await expect(page.getByText('EMAIL to carla: attempt failed').first()).toBeVisible();
  await expect(page.getByText(/EMAIL to carla pending, next attempt/)).toBeVisible();
  await picture(page, 'try-it-backoff');
  await expect(page.getByText('EMAIL to carla sent on attempt 3')).toBeVisible({ timeout: 40_000 });
  await expect(page.getByText('All providers work.')).toBeVisible();
});

test('a mail that is given up is a dead letter within a minute, and redriving it sends it', async ({ page }) => {
  await page.goto('/#/try');
  await page.getByRole('button', { name: /An email that fails/ }).click();
  await expect(page.getByText('EMAIL to carla failed after 5 attempts')).toBeVisible({ timeout: 60_000 });
  await picture(page, 'try-it-given-up');
  await page.getByRole('link', { name: 'Dead letter', exact: true }).first().click();
  await page.getByRole('button', { name: 'Redrive' }).click();
  await expect(page.getByRole('log')).toContainText('done: EMAIL sent');
  await picture(page, 'dead-letter-redriven');
});

test('the other scenes, and faults by hand', async ({ page }) => {
  await page.goto('/#/try');
  await page.getByRole('button', { name: /The same key twice/ }).click();
  await expect(page.getByText('Stored response, byte for byte')).toBeVisible();
  await page.getByRole('button', { name: /Duplicate deliveries/ }).click();
  await expect(page.getByText(/more deliveries/)).toBeVisible({ timeout: 40_000 });
  await page.getByRole('button', { name: /A poison message/ }).click();
  await expect(page.getByText('The message is a dead letter now, with the reason.')).toBeVisible();
  await page.getByLabel('Provider').selectOption('SLACK');
  await page.getByLabel('Behaviour').selectOption('unavailable');
  await page.getByLabel('Times').fill('3');
  await page.getByRole('button', { name: 'Inject fault' }).click();
  await expect(page.getByText('unavailable, 3 more')).toBeVisible();
  await page.getByRole('button', { name: 'Clear' }).click();
  await expect(page.getByText('All providers work.')).toBeVisible();
  await page.getByRole('button', { name: /A payment whose response is lost/ }).click();
  await page.getByRole('link', { name: 'All events of the order' }).click();
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole('link', { name: 'Order completed' })).toBeVisible({ timeout: 2000 });
  }).toPass();
  await picture(page, 'events-order');
});
