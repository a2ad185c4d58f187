// Numbers, times and names as people read them.

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric' });
const NUMBER = new Intl.NumberFormat();

export function number(value) {
  return NUMBER.format(value);
}

/** A count that stopped somewhere: `100+`. */
export function counted({ count, more }) {
  return `${number(count)}${more ? '+' : ''}`;
}

/** Milliseconds as the largest unit that says something. */
export function duration(ms) {
  const abs = Math.abs(ms);
  if (abs < 1000) return `${Math.round(ms)} ms`;
  if (abs < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (abs < 120_000) return `${Math.round(ms / 1000)} s`;
  if (abs < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  if (abs < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

export function ago(time, now = Date.now()) {
  const ms = now - Date.parse(time);
  if (ms < 1500) return 'just now';
  return `${duration(ms)} ago`;
}

/** The time of day, with the day where that is another one. */
export function moment(time, now = new Date()) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  const clock = CLOCK.format(date);
  return date.toDateString() === now.toDateString() ? clock : `${DAY.format(date)}, ${clock}`;
}

/** `RESTAURANT_USER` as `Restaurant user`. */
export function words(constant) {
  const text = String(constant).replaceAll('_', ' ').toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `EntitlementGranted` as `Entitlement granted`. */
export function spaced(camel) {
  return String(camel).replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
}

/** Enough of an id to tell it from its neighbours. Version 7 ids begin alike, so the end tells. */
export function shortId(id) {
  const text = String(id);
  return text.length > 18 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text;
}

/** JSON with indentation, or the text as it is where it is none. */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return String(text);
  }
}

export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

export function randomKey(prefix) {
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  return `${prefix}-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
