import { expect, test } from './world.js';

/** Tab until that stands in the focus. */
async function tabTo(page, locator) {
  for (let step = 0; step < 60; step += 1) {
    if (await locator.evaluate((element) => element === document.activeElement).catch(() => false)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`the keyboard does not reach ${locator}`);
}

test('everything an operator does works without a mouse', async ({ page, world }) => {
  await world.inject('order', 'keyboard poison');
  await world.idle();
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to the page' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('#page')).toBeFocused();
  // Skipping leads nowhere else: what is loaded again is the same page.
  expect(new URL(page.url()).hash).not.toBe('#page');
  await page.reload();
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();

  const letters = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Dead letters' });
  await page.goto('/#/overview');
  await tabTo(page, letters);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Dead letters' })).toBeVisible();
  await expect(page.locator('#page')).toBeFocused();

  const queue = page.getByLabel('Queue');
  await tabTo(page, queue);
  await page.keyboard.type('order');
  await expect(page).toHaveURL(/queue=order/);
  await expect(queue).toBeFocused();
  // What the filter leaves out is gone before anybody tabs to what it leaves.
  const rows = page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem');
  await expect(rows).toHaveCount(1);
  await expect(rows.filter({ hasText: 'order' })).toHaveCount(1);
  const row = rows.first();
  await tabTo(page, row.getByRole('checkbox'));
  await page.keyboard.press('Space');
  await expect(page.getByText('1 selected')).toBeVisible();
  const discard = page.getByRole('button', { name: 'Discard', exact: true });
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Shift+Tab');
  await expect(discard).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toBeHidden();
  await tabTo(page, discard);
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Discard' }));
  await page.keyboard.press('Enter');
  await expect(page.getByRole('log')).toContainText('discarded');

  await tabTo(page, page.getByRole('link', { name: 'Inbox' }));
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByLabel('Sign in as'));
  await page.keyboard.type('Carla');
  const panel = page.getByRole('region', { name: 'Carla Conti' });
  const read = panel.getByRole('button', { name: 'Mark read' }).first();
  await expect(read).toBeVisible();
  const before = await panel.getByRole('button', { name: 'Mark read' }).count();
  await tabTo(page, read);
  await page.keyboard.press('Enter');
  await expect(panel.getByRole('button', { name: 'Mark read' })).toHaveCount(before - 1);
});
