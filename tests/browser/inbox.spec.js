import { accessible, expect, picture, promise, test } from './world.js';

test('two windows: the first to act decides, and the other sees it at once', async ({ context, world }) => {
  const [rosa, remo] = [await context.newPage(), await context.newPage()];
  await rosa.goto('/#/inbox?as=RESTAURANT_USER:rosa');
  await remo.goto('/#/inbox?as=RESTAURANT_USER:remo');
  for (const page of [rosa, remo]) await expect(page.getByText('live', { exact: true })).toBeVisible();
  const id = await world.reserve('two-windows');
  const told = (page) => page.getByRole('listitem').filter({ hasText: id });
  await expect(told(rosa)).toBeVisible();
  await expect(told(remo)).toBeVisible();
  await expect(rosa.locator('.unread-count')).toBeVisible();
  await told(rosa).getByRole('button', { name: 'Confirm' }).click();
  await expect(told(rosa)).toContainText('Handled by you: confirmed');
  await expect(told(remo)).toContainText('Handled by Rosa Ricci: confirmed');
  await expect(told(remo).getByRole('button', { name: 'Confirm' })).toBeHidden();
  await picture(remo, 'inbox-handled');
  await told(remo).getByRole('link', { name: 'Story' }).click();
  await expect(remo.getByText('Restaurant user notified, handled by rosa')).toBeVisible();
});

test('side by side in one window: read, act, read all', async ({ page, world }) => {
  await page.goto('/#/inbox');
  await expect(page.getByText('Whose inbox?')).toBeVisible();
  await page.getByRole('link', { name: 'Rosa and Remo, side by side' }).click();
  const panel = (name) => page.getByRole('region', { name });
  await expect(panel('Rosa Ricci').getByText('live', { exact: true })).toBeVisible();
  await expect(panel('Remo Riva').getByText('live', { exact: true })).toBeVisible();
  await world.announce('side-by-side', { title: 'Taste the new olive oil', body: 'At five.', audience: 'RESTAURANT_USER', restaurant_id: 'trattoria' });
  const told = (name) => panel(name).getByRole('listitem').filter({ hasText: 'olive oil' });
  await expect(told('Rosa Ricci')).toBeVisible();
  await expect(told('Remo Riva')).toBeVisible();
  await accessible(page);
  await picture(page, 'inbox-side-by-side');
  await told('Rosa Ricci').getByRole('button', { name: 'Mark read' }).click();
  await expect(told('Rosa Ricci').getByRole('img', { name: 'unread' })).toBeHidden();
  await panel('Remo Riva').getByRole('button', { name: 'Mark all read' }).click();
  await expect(panel('Remo Riva').locator('.unread-count')).toBeHidden();
  await expect(panel('Remo Riva').getByRole('img', { name: 'unread' })).toHaveCount(0);
  await panel('Remo Riva').getByLabel('Unread only').check();
  await expect(panel('Remo Riva').getByText('No unread notifications.')).toBeVisible();
});

test('whoever comes second is told who was first', async ({ page, world }) => {
  const id = await world.reserve('too-late');
  await world.idle();
  // Remo's socket is deaf: his page does not hear of Rosa.
  await page.routeWebSocket(/live/, () => {});
  await page.goto('/#/inbox?as=RESTAURANT_USER:remo');
  const token = await world.token({ sub: 'rosa', user_type: 'RESTAURANT_USER', name: 'Rosa Ricci' });
  const { json } = await world.call('GET', '/v1/inbox', { token });
  const told = json.notifications.find((row) => row.body.includes(id));
  const row = page.getByRole('listitem').filter({ hasText: id });
  await expect(row.getByRole('button', { name: 'Confirm' })).toBeVisible();
  const first = { token, key: 'first', body: { action_type: 'REJECTED' } };
  expect((await world.call('POST', `/v1/notifications/${told.notification_id}/actions`, first)).status).toBe(200);
  await row.getByRole('button', { name: 'Confirm' }).click();
  await expect(row).toContainText('Handled by Rosa Ricci: rejected');
  await expect(row.getByRole('alert')).toContainText('Rosa Ricci');
});

test('an answer that was overtaken takes nothing back', async ({ page, world }) => {
  const id = await world.reserve('overtaken');
  await world.idle();
  const token = await world.token({ sub: 'rosa', user_type: 'RESTAURANT_USER', name: 'Rosa Ricci' });
  const { json } = await world.call('GET', '/v1/inbox', { token });
  const told = json.notifications.find((row) => row.body.includes(id));
  const remo = await world.token({ sub: 'remo', user_type: 'RESTAURANT_USER' });
  const before = (await world.call('GET', '/v1/inbox?limit=1', { token: remo })).json.unread_count;
  // Remo's inbox is read before Rosa acts, and its answer held back until the socket has told of it.
  const [read, overtaken] = [promise(), promise()];
  await page.route('**/v1/inbox?limit=50', async (route) => {
    const answer = await route.fetch();
    read.resolve();
    await overtaken.promise;
    await route.fulfill({ response: answer });
  });
  await page.goto('/#/inbox?as=RESTAURANT_USER:remo');
  await read.promise;
  const first = { token, key: 'overtaken', body: { action_type: 'CONFIRMED' } };
  expect((await world.call('POST', `/v1/notifications/${told.notification_id}/actions`, first)).status).toBe(200);
  const rows = page.getByRole('list', { name: 'Inbox of Remo Riva' }).getByRole('listitem');
  const row = rows.filter({ hasText: id });
  await expect(row).toContainText('Handled by Rosa Ricci: confirmed');
  await expect(rows).toHaveCount(1);
  const badge = page.getByRole('region', { name: 'Remo Riva' }).locator('.unread-count');
  await expect(badge).toHaveText(String(before - 1));
  overtaken.resolve();
  // The others came with the answer.
  await expect(rows).not.toHaveCount(1);
  await expect(row).toContainText('Handled by Rosa Ricci: confirmed');
  await expect(badge).toHaveText(String(before - 1));
});

test('a new socket brings what was missed, and older ones that were asked for stay', async ({ page, world }) => {
  const token = await world.operator();
  await world.call('PUT', '/v1/recipients/CUSTOMER/paula', { token, body: { name: 'Paula Piras' } });
  const tell = async (number) => {
    await world.announce(`paged-${number}`, { title: `Paged ${number}`, body: 'b', audience: 'CUSTOMER', user_id: 'paula' });
    await world.idle();
  };
  for (const number of [1, 2, 3]) await tell(number);
  // Pages of two: the third is an older one. The socket can be cut, and is deaf from then on.
  await page.route('**/v1/inbox?limit=50*', (route) => route.continue({ url: route.request().url().replace('limit=50', 'limit=2') }));
  const sockets = [];
  await page.routeWebSocket(/live/, (socket) => { sockets.push(socket); });
  await page.goto('/#/inbox?as=CUSTOMER:paula');
  const rows = page.getByRole('list', { name: 'Inbox of paula' }).getByRole('listitem');
  await expect(rows).toHaveCount(2);
  await page.getByRole('button', { name: 'Show older' }).click();
  await expect(rows).toHaveCount(3);
  await expect(page.getByRole('button', { name: 'Show older' })).toBeHidden();
  await tell(4);
  await expect(rows).toHaveCount(3);
  await sockets[0].close();
  await expect(rows).toHaveText([/Paged 4/, /Paged 3/, /Paged 2/, /Paged 1/]);
  // Three at once are more than a page: what lies between is behind the button.
  for (const number of [5, 6, 7]) await tell(number);
  await sockets[1].close();
  await expect(rows).toHaveText([/Paged 7/, /Paged 6/, /Paged 4/, /Paged 3/, /Paged 2/, /Paged 1/]);
  await page.getByRole('button', { name: 'Show older' }).click();
  await expect(rows).toHaveCount(7);
});

test('what a deaf socket missed comes within a minute, into an empty inbox too', async ({ page, world }) => {
  const token = await world.operator();
  await world.call('PUT', '/v1/recipients/CUSTOMER/newcomer', { token, body: { name: 'Nina Nuova' } });
  await page.clock.install();
  await page.routeWebSocket(/live/, () => {});
  await page.goto('/#/inbox?as=CUSTOMER:newcomer');
  await expect(page.getByText('No notifications yet.')).toBeVisible();
  await world.announce('missed', { title: 'You missed this', body: 'b', audience: 'CUSTOMER', user_id: 'newcomer' });
  await world.idle();
  await page.clock.runFor(60_000);
  await expect(page.getByText('You missed this')).toBeVisible();
});
