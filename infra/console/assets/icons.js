// The few drawings of the console, stroke by stroke.

import { svg } from './dom.js';

const PATHS = {
  overview: ['M3 12h4l3-8 4 16 3-8h4'],
  events: ['M5 4v16', 'M5 7h9', 'M5 12h14', 'M5 17h6'],
  letters: ['M3 6h18v12H3z', 'M3 7l9 7 9-7', 'M8 21l8-0'],
  inbox: ['M4 13l3-8h10l3 8v6H4z', 'M4 13h5l1 3h4l1-3h5'],
  try: ['M7 4l12 8-12 8z'],
  sun: ['M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8z', 'M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5'],
  moon: ['M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z'],
  auto: ['M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z', 'M12 3v18'],
  check: ['M4 12l5 5L20 6'],
  cross: ['M6 6l12 12M18 6L6 18'],
  again: ['M20 11a8 8 0 1 0-2 6', 'M20 4v7h-7'],
  copy: ['M9 9h11v11H9z', 'M15 9V4H4v11h5'],
  out: ['M14 4h6v6', 'M20 4l-9 9', 'M18 14v6H4V6h6'],
  bin: ['M4 7h16', 'M9 7V4h6v3', 'M6 7l1 13h10l1-13'],
};

export function icon(name) {
  const shape = { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true', fill: 'none', stroke: 'currentColor',
    'stroke-width': 1.8, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' };
  return svg('svg', shape, PATHS[name].map((d) => svg('path', { d })));
}
