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
  await letter.getByRole('link', { name: 'Read it' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Announcement');
  await expect(page.getByLabel('The message’s body')).toContainText('letter-1');
  await accessible(page);
  await picture(page, 'dead-letter');
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
  await expect(page.getByText('2 chosen')).toBeVisible();
  await page.getByRole('button', { name: 'Redrive', exact: true }).click();
  // Poison stays poison: what happens is that it fails again, and the list shows it.
  await expect(page.getByRole('log').getByText('failed again: not a CloudEvents envelope')).toHaveCount(2);
  await page.waitForResponse((answer) => answer.url().includes('/v1/dead-letters?'));
  await expect(letters).toHaveCount(3);

  await page.getByRole('button', { name: 'Redrive all that match…' }).click();
  await expect(page.getByRole('dialog')).toContainText('Redrive 3 dead letters?');
  await page.getByRole('button', { name: 'Cancel' }).click();

  await page.getByLabel('Choose all shown').check();
  await page.getByRole('button', { name: 'Discard', exact: true }).click();
  await expect(page.getByRole('dialog')).toContainText('Discard 3 dead letters?');
  await picture(page, 'dead-letters-confirm', { fullPage: false });
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByText('No dead letter matches.')).toBeVisible();
  await expect(page.getByRole('log').getByText('discarded', { exact: true })).toHaveCount(3);
  await page.getByLabel('Status').selectOption('DISCARDED');
  await expect(letters).toHaveCount(3);
  await expect(letters.first()).toContainText('discarded by console');
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
