import { effect } from '@preact/signals';
import { render } from 'preact';
import { BrowsePage } from './browse-page.tsx';
import { readBrowseQuery, writeBrowseQuery } from './browse-query.ts';
import type { Connection } from './connection.ts';
import { later } from './later.ts';
import { Recordings } from './recordings.ts';
import { ReplayClock } from './replay-clock.ts';

/** Shows the list of recordings as the address says. Returns a function that ends it. */
export function showRecordings(root: HTMLElement, connection: Connection): () => void {
  const recordings = new Recordings(readBrowseQuery(location.search), { connection, later });

  /** The key and its tier; undefined while no request can be sent. It stays the same when a token is renewed. */
  const seen = () => {
    const { value: state } = connection.state;
    if (state.kind !== 'ready') return undefined;
    return JSON.stringify([state.connected?.key, state.connected?.tier]);
  };
  let shown: string | undefined;
  const stopLoading = effect(() => {
    const now = seen();
    if (now === undefined) return;
    if (now === shown) recordings.retry();
    else recordings.start();
    shown = now;
  });

  // The address says what is shown; a choice is a step of the history.
  const stopWriting = effect(() => {
    const query = writeBrowseQuery(recordings.query.value);
    if (query !== location.search) history.pushState(null, '', `${location.pathname}${query}`);
  });
  const read = () => recordings.choose(readBrowseQuery(location.search));
  addEventListener('popstate', read);

  const clock =
    root.dataset.replay === 'true' ? new ReplayClock(connection, recordings.query.peek().replay ?? null) : undefined;
  const following = new AbortController();
  // Without the clock no market is known to be over. `follow` ends with the error of the abort.
  void clock?.follow(() => undefined, following.signal).catch(() => undefined);

  render(<BrowsePage connection={connection} recordings={recordings} later={later} clock={clock} />, root);
  return () => {
    following.abort();
    removeEventListener('popstate', read);
    stopWriting();
    stopLoading();
  };
}
