// Makes the stand-ins of the providers fail; on a laptop only.

import { local } from './api.js';
import { fill, freshId, h } from './dom.js';
import { notify } from './notices.js';
import { every } from './polling.js';
import { failed } from './states.js';

const TARGETS = ['EMAIL', 'SMS', 'PUSH', 'SLACK', 'PAYMENT'];
const MODES = [
  ['error', 'fails: counts as an attempt, retried after a backoff'],
  ['unavailable', 'is unreachable: postponed without counting'],
  ['reject', 'rejects the message: no second attempt'],
  ['timeout', 'does not respond for 30 seconds'],
  ['drop_answer', 'accepts, but its response is lost'],
];

export function showFaults(root, signal) {
  const standing = h('ul', { class: 'plain-list', 'aria-live': 'polite' });
  const select = (name, label, options, value) => {
    const id = freshId('fault');
    return h('div', { class: 'field' }, h('label', { for: id }, label),
      h('select', { id, name, value }, options.map(([option, text]) => h('option', { value: option }, text))));
  };
  const times = freshId('fault');
  const form = h('form', { class: 'faults', onsubmit: async (event) => {
    event.preventDefault();
    const said = Object.fromEntries(new FormData(form));
    await set({ ...said, times: Number(said.times) });
  } },
  select('target', 'Provider', TARGETS.map((target) => [target, target])),
  select('mode', 'Behaviour', MODES),
  h('div', { class: 'field' }, h('label', { for: times }, 'Times'), h('input', { id: times, name: 'times', type: 'number', min: 1, max: 1000, value: '2', required: true })),
  h('button', { class: 'button' }, 'Inject fault'));
  let seen = '';
  const load = async () => {
    try {
      const { faults } = await local('GET', 'faults', undefined, signal);
      if (JSON.stringify(faults) === seen) return;
      seen = JSON.stringify(faults);
      fill(standing, faults.length ? faults.map(row) : h('li', { class: 'quiet' }, 'All providers work.'));
    } catch (problem) {
      if (!signal.aborted && !seen) fill(standing, h('li', {}, failed(problem)));
    }
  };
  const set = async (fault) => {
    try {
      await local('POST', 'faults', fault, signal);
      notify(fault.mode === 'ok' ? `${fault.target} works again.` : `${fault.target}: ${fault.mode}, ${fault.times} times.`);
      await load();
    } catch (problem) {
      notify(problem.message, 'bad');
    }
  };
  const row = ({ target, mode, times: left }) => h('li', {},
    h('span', { class: 'badge bad' }, target), h('span', {}, `${mode}${left ? `, ${left} more` : ', until further notice'}`),
    h('button', { type: 'button', class: 'button small push', onclick: () => set({ target, mode: 'ok' }) }, 'Clear'));
  fill(root, form, standing);
  every(1500, signal, load);
}
