// Starts the console: settings, session, pages.

import { config, loadConfig } from './config.js';
import { fill, h } from './dom.js';
import { icon } from './icons.js';
import { finishSignIn } from './pkce.js';
import { Router } from './router.js';
import { storedSession } from './session.js';
import { showSession } from './session_chip.js';
import { renewByDialog } from './sign_in.js';
import { failed } from './states.js';
import { showDeadLetter } from './dead_letter.js';
import { showDeadLetters } from './dead_letters.js';
import { showEvents } from './events.js';
import { showInbox } from './inbox.js';
import { showOverview } from './overview.js';
import { showStory } from './story_page.js';
import { showTryIt } from './try_it.js';

const NAVIGATION = [
  ['overview', 'Overview', 'overview'],
  ['events', 'Events', 'events'],
  ['dead-letters', 'Dead letters', 'letters'],
  ['inbox', 'Inbox', 'inbox'],
  ['try', 'Try it', 'try'],
];

async function start() {
  const root = document.querySelector('#page');
  try {
    await loadConfig();
    const session = storedSession(renewByDialog);
    const token = await finishSignIn();
    if (token) session.set(token);
    // On a laptop nobody needs to be asked who they are; in the cloud the first call asks.
    if (config.local && !session.token) await session.refresh('none');
    const pages = (show) => (page, route) => show(page, { ...route, session });
    fill(document.querySelector('#pages'), NAVIGATION.map(([path, title, drawing]) =>
      h('a', { href: `#/${path}` }, icon(drawing), h('span', {}, title))));
    showSession(document.querySelector('#session'), session);
    const router = new Router(root, [
      { path: '/overview', title: 'Overview', show: pages(showOverview) },
      { path: '/events', title: 'Events', show: pages(showEvents) },
      { path: '/events/:id', title: 'Story', show: pages(showStory) },
      { path: '/dead-letters', title: 'Dead letters', show: pages(showDeadLetters) },
      { path: '/dead-letters/:id', title: 'Dead letter', show: pages(showDeadLetter) },
      { path: '/inbox', title: 'Inbox', show: pages(showInbox) },
      { path: '/try', title: 'Try it', show: pages(showTryIt) },
    ]);
    showAnew(session, router);
    // The link of those who skip the rail leads to no page of its own: the address stays the page's.
    document.querySelector('.skip').addEventListener('click', (event) => {
      event.preventDefault();
      root.focus();
    });
    router.show();
  } catch (problem) {
    fill(root, failed(problem, () => location.reload()));
  }
}

/** Whoever signs in as somebody else sees the page as that somebody: nothing of it stays, sockets included. */
function showAnew(session, router) {
  const whose = () => JSON.stringify([session.claims.iss, session.claims.user_type, session.claims.sub]);
  let before = session.token ? whose() : null;
  session.addEventListener('change', () => {
    const now = whose();
    if (before !== null && before !== now) router.show();
    before = now;
  });
}

start();
