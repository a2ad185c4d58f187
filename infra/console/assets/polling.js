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
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}

function until(target, event, signal) {
  return new Promise((done) => {
    const end = () => {
      target.removeEventListener(event, end);
      signal.removeEventListener('abort', end);
      done();
    };
    target.addEventListener(event, end);
    signal.addEventListener('abort', end);
  });
}
