// One notification as its recipient sees it, with what they can do about it.

import { h } from './dom.js';
import { moment, words } from './format.js';
import { link } from './router.js';
import { timeAgo } from './time_ago.js';

const ACTIONS = [
  ['CONFIRMED', 'Confirm', 'primary'], ['REJECTED', 'Reject', ''], ['POSTPONED', 'Later', ''], ['DISMISSED', 'Dismiss', ''],
];

export function notificationRow(row, { act, read, operator, trouble, person }) {
  const { handled_by: handled, read_by: reader } = row;
  const mine = handled?.user_id === person.user_id;
  return h('li', { class: `notification${row.is_read ? '' : ' unread'}` },
    h('p', { class: 'notification-title' },
      !row.is_read && h('span', { class: 'unread-dot', role: 'img', 'aria-label': 'unread' }), row.title),
    h('p', {}, row.body),
    handled && h('p', { class: 'handled' }, h('strong', {}, `Handled by ${mine ? 'you' : handled.name}`),
      `: ${words(handled.action_type).toLowerCase()}, ${moment(handled.at)}`),
    !handled && reader && reader.user_id !== person.user_id && h('p', { class: 'quiet' }, `Read by ${reader.name}`),
    trouble && h('p', { class: 'problem', role: 'alert' }, trouble),
    h('div', { class: 'row' },
      row.actionable && !handled && ACTIONS.map(([type, verb, kind]) =>
        h('button', { type: 'button', class: `button small ${kind}`, 'data-focus': type, onclick: once(() => act(row, type)) }, verb)),
      !row.is_read && h('button', { type: 'button', class: 'button small', 'data-focus': 'read', onclick: once(() => read(row)) }, 'Mark read'),
      h('span', { class: 'push quiet' }, timeAgo(row.created_at),
        operator.scopes.includes('operate') && [' · ', h('a', { href: link(['events', row.event_id]), 'data-focus': 'story' }, 'Story')])));
}

/** A button that waits for what it has begun. */
function once(work) {
  return async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    await work();
    button.disabled = false;
  };
}
