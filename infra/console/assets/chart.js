// Small charts: a line over time with its area, drawn as SVG, and said in words for those who do not see it.

import { h, svg } from './dom.js';

/** `points` are numbers, oldest first; `label` says what they are. */
export function sparkline(points, label) {
  const [width, height] = [120, 32];
  const top = Math.max(...points, 1);
  const x = (index) => (index / Math.max(points.length - 1, 1)) * width;
  const y = (value) => height - 2 - (value / top) * (height - 4);
  const line = points.map((value, index) => `${index ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`).join('');
  return svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': label },
  svg('path', { class: 'spark-area', d: `${line}L${width} ${height}L0 ${height}Z` }),
  svg('path', { class: 'spark-line', d: line }));
}

/** A chart with a scale. `format` writes a value, `span` what the width stands for. */
export function areaChart(points, { label, format, span }) {
  const top = niceTop(Math.max(...points, 0));
  const [width, height] = [600, 160];
  const x = (index) => (index / Math.max(points.length - 1, 1)) * width;
  const y = (value) => height - (value / top) * height;
  const line = points.map((value, index) => `${index ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`).join('');
  const grid = [0, 0.5, 1].map((part) => svg('path', { class: 'grid', d: `M0 ${height * part}H${width}` }));
  return h('figure', { class: 'chart' },
    h('div', { class: 'chart-scale', 'aria-hidden': 'true' }, [top, top / 2, 0].map((value) => h('span', {}, format(value)))),
    svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
      grid,
      points.length > 1 && svg('path', { class: 'spark-area', d: `${line}L${width} ${height}L0 ${height}Z` }),
      points.length > 1 && svg('path', { class: 'spark-line', d: line })),
    h('figcaption', {}, h('span', {}, span), h('span', {}, 'now')));
}

function niceTop(value) {
  if (value <= 0) return 10;
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((times) => times * step).find((top) => top >= value);
}

/** Adds values up in slots of so many seconds, up to `now`: `[[at, value], …]` → one number a slot, oldest first. */
export function inSlots(samples, { now, slots, seconds, join = (a, b) => a + b }) {
  const points = new Array(slots).fill(0);
  for (const [at, value] of samples) {
    const index = slots - 1 - Math.floor((now - at) / seconds);
    if (index >= 0 && index < slots) points[index] = join(points[index], value);
  }
  return points;
}
