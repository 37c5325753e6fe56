import { effect } from '@preact/signals';
import type { Explorer } from './explorer.ts';
import { searchOf } from './view-link.ts';

/** Browsers refuse to change the address more often. */
const ADDRESS_MS = 400;

/** A query, empty or with `?`, for the same replay as this page. */
export function withReplay(search: string): string {
  const replay = new URLSearchParams(location.search).get('replay');
  return replay === null ? search : `${search === '' ? '?' : `${search}&`}replay=${encodeURIComponent(replay)}`;
}

/** Makes the address of the page a link to what is shown. Returns a function that ends it. */
export function keepAddress({ shown }: Explorer): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = effect(() => {
    if (shown.value === undefined) return;
    const search = withReplay(searchOf(shown.value.state.link));
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (search !== location.search) history.replaceState(null, '', `${location.pathname}${search}`);
    }, ADDRESS_MS);
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}
