// Who is signed in, in the corner: name, light or dark, and signing in as somebody else.

import { fill, h } from './dom.js';
import { icon } from './icons.js';

const THEMES = ['auto', 'light', 'dark'];
const DRAWINGS = { auto: 'auto', light: 'sun', dark: 'moon' };
const STORED = 'belfry.theme';

export function showSession(root, session) {
  const draw = () => {
    const { name, sub } = session.claims;
    const scopes = session.scopes.join(' ');
    fill(root,
      h('button', { type: 'button', class: 'chip', title: scopes ? `Scopes: ${scopes}` : 'Sign in',
        onclick: () => session.refresh('switch').catch(() => {}) },
      h('span', { class: 'avatar', 'aria-hidden': 'true' }, initials(name ?? sub ?? '?')),
      h('span', { class: 'chip-text' }, sub ? name ?? sub : 'Sign in')),
      themeButton());
  };
  session.addEventListener('change', draw);
  draw();
}

export function initials(name) {
  return name.split(/\s+/).filter(Boolean).slice(0, 2).map((word) => [...word][0].toUpperCase()).join('') || '?';
}

function themeButton() {
  const stored = sessionStorage.getItem(STORED);
  let theme = THEMES.includes(stored) ? stored : 'auto';
  const button = h('button', { type: 'button', class: 'icon-button' });
  const apply = () => {
    if (theme === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const label = `Colours: ${theme === 'auto' ? 'as the system' : theme}`;
    button.setAttribute('aria-label', label);
    button.title = label;
    fill(button, icon(DRAWINGS[theme]));
  };
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    sessionStorage.setItem(STORED, theme);
    apply();
  });
  apply();
  return button;
}
