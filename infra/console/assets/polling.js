// Does something again and again, as long as a page is there and looked at.

/** Runs `step` now and then every so many milliseconds, one after the other, until the signal says otherwise. While the page
    is hidden it waits. */
export async function every(ms, signal, step) {
  while (!signal.aborted) {
    if (!document.hidden) await step();
    if (signal.aborted) return;
    await pause(ms, signal);
    while (document.hidden && !signal.aborted) await until(document, 'visibilitychange', signal);
  }
}

/** Waits, or stops waiting when the signal says so. */
export function pause(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', () => { clearTimeout(timer); done(); }, { once: true });
  });
}

function until(target, event, signal) {
  return new Promise((done) => {
    target.addEventListener(event, done, { once: true, signal });
    signal.addEventListener('abort', done, { once: true });
  });
}
