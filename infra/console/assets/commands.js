// What can be tried: where each request goes, its fields, and the body that they make.

import { randomKey } from './format.js';

const AUDIENCES = ['CUSTOMER', 'RESTAURANT_USER', 'AGENCY_USER', 'ADMIN_USER'];

/** A field is name, label, first value, and what kind of control it is. */
export const COMMANDS = [
  {
    id: 'grant', title: 'Grant', path: '/v1/entitlements/grants', keyed: true,
    what: 'Grants a user access to a product. A second grant is refused; a retry with the same key gets the stored response.',
    fields: () => [
      ['user_id', 'User', 'carla'], ['stock_keeping_unit', 'Unit', randomKey('chef-table')],
      ['reason', 'Reason', 'PURCHASE'], ['purchase_id', 'Purchase', randomKey('p')],
    ],
    body: (said) => said,
  },
  {
    id: 'reservation', title: 'Reservation', path: '/v1/reservations', keyed: true,
    what: 'Requests a table at a restaurant. The staff is notified at once, and the first of them to act decides.',
    fields: () => [
      ['customer_id', 'Customer', 'carla'], ['restaurant_id', 'Restaurant', 'trattoria'],
      ['party_size', 'People', '4', 'number'], ['slot_time', 'When', tomorrow(), 'datetime-local'],
      ['agency_id', 'Agency (optional)', '', 'optional'],
    ],
    body: ({ party_size, slot_time, agency_id, ...said }) => ({
      ...said, party_size: Number(party_size), slot_time: iso(slot_time), ...(agency_id ? { agency_id } : {}),
    }),
  },
  {
    id: 'order', title: 'Order', path: '/v1/orders', keyed: true,
    what: 'Runs a saga: reserve stock, charge, complete. If a step fails, the steps before it are undone.',
    fields: () => [
      ['customer_id', 'Customer', 'chen'], ['stock_keeping_unit', 'Unit', 'espresso'], ['quantity', 'Quantity', '2', 'number'],
    ],
    body: ({ customer_id, stock_keeping_unit, quantity }) => ({
      customer_id, lines: [{ stock_keeping_unit, quantity: Number(quantity) }],
    }),
  },
  {
    id: 'event', title: 'Your event', path: '/v1/events', keyed: false,
    what: 'Publishes an event as a source system does. The event id is its key: publishing it again has no second effect.',
    fields: () => [
      ['event_id', 'Event id', randomKey('news')], ['title', 'Title', 'The kitchen closes early'],
      ['text', 'Text', 'Last orders at nine tonight.'], ['audience', 'Audience', 'CUSTOMER', AUDIENCES],
      ['user_id', 'User', 'carla', 'optional'],
    ],
    body: ({ event_id, title, text, audience, user_id }) => ({
      event_id, event_type: 'Announcement', aggregate_type: 'Notice', aggregate_id: event_id,
      payload: { title, body: text, audience, ...(user_id ? { user_id } : {}) },
    }),
  },
];

function tomorrow() {
  const date = new Date(Date.now() + 86_400_000);
  date.setHours(19, 30, 0, 0);
  const two = (value) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T19:30`;
}

function iso(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date.toISOString();
}

/** The request as a line for a shell; the token is the reader's own. */
export function curl({ method = 'POST', path, key, body }, origin) {
  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  return [
    `curl -i ${method === 'POST' ? '' : `-X ${method} `}${origin}${path}`,
    `  -H "authorization: Bearer $TOKEN"`,
    `  -H 'content-type: application/json'`,
    key && `  -H ${quoted(`idempotency-key: ${key}`)}`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].filter(Boolean).join(' \\\n');
}
