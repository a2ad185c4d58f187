import { accessible, expect, picture, test } from './world.js';

test('a dead letter is read, redriven and done, as one watches', async ({ page, world }) => {
  // A text message whose answer is lost: nobody knows whether it was sent, so it is held for an operator.
  await world.fault('SMS', 'drop_answer', 1);
  await world.announce('letter-1', { title: 'Refused', body: 'b', audience: 'RESTAURANT_USER', user_id: 'rosa', channels: ['SMS'], urgent: true });
  await world.idle();
  await page.goto('/#/dead-letters?queue=deliver-sms');
  const letter = page.getByRole('listitem').filter({ hasText: 'Announcement' }).first();
  await expect(letter).toContainText('OPEN');
  await expect(letter).toContainText('deliver-sms');
  await letter.getByRole('link', { name: 'Details' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Announcement');
  await expect(page.getByLabel('Message body')).toContainText('letter-1');
  await accessible(page);
  await picture(page, 'dead-letter');
  // Without the API what was shown stays, and says that it is old.
  await page.route('**/v1/dead-letters/*', (route) => route.abort());
  await expect(page.getByText(/No connection: .* Retrying/)).toBeVisible();
  await expect(page.getByLabel('Message body')).toContainText('letter-1');
  await page.unroute('**/v1/dead-letters/*');
  await expect(page.getByText(/No connection/)).toBeHidden();
  await page.getByRole('button', { name: 'Redrive' }).click();
  await expect(page.getByRole('log')).toContainText('Redrive Announcement');
  await expect(page.getByText('REDRIVEN', { exact: true })).toBeVisible();
  await page.getByRole('link', { name: 'letter-1' }).click();
  await expect(page.getByText('Redriven by console')).toBeVisible();
  await expect(page.getByText('Dead letter of deliver:SMS')).toBeVisible();
  await page.getByRole('link', { name: 'Dead letter', exact: true }).first().click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Announcement');
});

test('letters are filtered, chosen, redriven together and discarded', async ({ page, world }) => {
  for (const number of [1, 2, 3]) await world.inject('fanout-admin-user', `poison ${number}`);
  await page.goto('/#/dead-letters');
  await page.getByLabel('Queue').selectOption('fanout-admin-user');
  await expect(page).toHaveURL(/queue=fanout-admin-user/);
  const letters = page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem');
  await expect(letters).toHaveCount(3);
  await expect(letters.first()).toContainText('not a CloudEvents envelope');
  await accessible(page);
  await picture(page, 'dead-letters');

  await letters.nth(0).getByRole('checkbox').check();
  await letters.nth(1).getByRole('checkbox').check();
  await expect(page.getByText('2 selected')).toBeVisible();
  await page.getByRole('button', { name: 'Redrive', exact: true }).click();
  await expect(letters.getByRole('checkbox', { checked: true })).toHaveCount(0);
  // Poison stays poison: what happens is that it fails again, and the list shows it.
  await expect(page.getByRole('log').getByText('failed again: not a CloudEvents envelope')).toHaveCount(2);
  await page.waitForResponse((answer) => answer.url().includes('/v1/dead-letters?'));
  await expect(letters).toHaveCount(3);

  await page.getByRole('button', { name: 'Redrive all that match…' }).click();
  await expect(page.getByRole('dialog')).toContainText('Redrive 3 dead letters?');
  await page.getByRole('button', { name: 'Cancel' }).click();

  await page.getByLabel('Select all shown').check();
  await page.getByRole('button', { name: 'Discard', exact: true }).click();
  await expect(page.getByRole('dialog')).toContainText('Discard 3 dead letters?');
  await picture(page, 'dead-letters-confirm', { fullPage: false });
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByText('No dead letters match.')).toBeVisible();
  await expect(page.getByRole('log').getByText('discarded', { exact: true })).toHaveCount(3);
  await page.getByLabel('Status').selectOption('DISCARDED');
  await expect(letters).toHaveCount(3);
  await expect(letters.first()).toContainText('discarded by console');
});

test('of two recipients of one event each letter has its own end, and a job ends though one fails again', async ({ page, world }) => {
  const news = { title: 'Two', body: 'b', audience: 'RESTAURANT_USER', restaurant_id: 'trattoria', channels: ['SMS'], urgent: true };
  await world.fault('SMS', 'drop_answer', 2);
  await world.announce('two-letters', news);
  await world.idle();
  await page.goto('/#/dead-letters?queue=deliver-sms');
  const letters = page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem');
  await expect(letters).toHaveCount(2);
  await world.fault('SMS', 'drop_answer', 1);
  await page.getByLabel('Select all shown').check();
  await page.getByRole('button', { name: 'Redrive', exact: true }).click();
  const log = page.getByRole('log');
  await expect(log.getByText('all 2 redriven')).toBeVisible();
  await expect(log.getByText('done: SMS sent')).toHaveCount(1);
  await expect(log.getByText(/^failed again/)).toHaveCount(1);
  await expect(letters).toHaveCount(1);
  await letters.getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Redrive', exact: true }).click();
  await expect(log.getByText('done: SMS sent')).toHaveCount(2);
});

test('a row stays under the hand while its age goes on', async ({ page, world }) => {
  await world.inject('deliver-slack', 'it grows old');
  await world.idle();
  await page.goto('/#/dead-letters?queue=deliver-slack');
  const letter = page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem').first();
  await letter.getByRole('link', { name: 'Details' }).focus();
  const [row, age] = [await letter.elementHandle(), await letter.locator('time').textContent()];
  await expect(letter.locator('time')).not.toHaveText(age);
  expect(await row.evaluate((element) => element.isConnected)).toBe(true);
  await expect(letter.getByRole('link', { name: 'Details' })).toBeFocused();
});

test('letters beyond the first page are shown on demand, and stay', async ({ page, world }) => {
  for (const number of [1, 2, 3, 4, 5]) await world.inject('deliver-push', `page ${number}`);
  await world.idle();
  // Pages of two.
  await page.route('**/v1/dead-letters?*', (route) => route.continue({ url: route.request().url().replace('limit=50', 'limit=2') }));
  await page.goto('/#/dead-letters?queue=deliver-push');
  const letters = page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem');
  const more = page.getByRole('button', { name: 'Show more' });
  await expect(letters).toHaveCount(2);
  await expect(page.getByText('2 dead letters, and more')).toBeVisible();
  await more.click();
  await expect(letters).toHaveCount(4);
  // The next reading has as many.
  await page.waitForResponse((answer) => answer.url().includes('cursor='));
  await expect(letters).toHaveCount(4);
  await more.click();
  await expect(letters).toHaveCount(5);
  await expect(more).toBeHidden();
  await page.getByLabel('Select all shown').check();
  await expect(page.getByText('5 selected')).toBeVisible();
});

test('all that match are redriven as a job, and the rest are not', async ({ page, world }) => {
  for (const number of [1, 2]) await world.inject('inventory', `job ${number}`);
  await world.inject('payment', 'not of the job');
  await page.goto('/#/dead-letters?queue=inventory');
  await expect(page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem')).toHaveCount(2);
  await page.getByRole('button', { name: 'Redrive all that match…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Redrive' }).click();
  await expect(page.getByRole('log')).toContainText('all 2 redriven');
  await page.getByRole('log').getByRole('link', { name: 'Redrive 2' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /Dead letters redrive requested/ })).toBeVisible();
});
