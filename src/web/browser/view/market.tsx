import { effect } from '@preact/signals';
import { render } from 'preact';
import { Connection } from './connection.ts';
import { Explorer } from './explorer.ts';
import { MarketExplorer } from './market-explorer.tsx';
import { connectionOf } from './page-connection.ts';
import { workerUrl } from './recording-source.ts';

/** Browsers refuse to change the address more often. */
const ADDRESS_MS = 400;

const root = document.querySelector<HTMLElement>('#view')!;
const connection = connectionOf(root);
const [, , coin = '', market = ''] = location.pathname.split('/');
const explorer = new Explorer({
  connection,
  coin: coin.toLowerCase(),
  market,
  search: location.search,
  workerUrl: workerUrl(root.dataset.worker!),
  replay: root.dataset.replay === 'true' ? replayOf(connection) : undefined,
});
render(<MarketExplorer explorer={explorer} />, root);
explorer.start();
keepAddress();
void connection.connect();

/** The list of replays is not part of a replay: its paths have no prefix. */
function replayOf({ settings }: Connection) {
  const id = new URLSearchParams(location.search).get('replay') ?? undefined;
  if (settings.prefix === '') return { clock: connection, id: undefined };
  const clock = new Connection({ ...settings, prefix: '' });
  void clock.connect();
  return { clock, id };
}

/** The address of the page is a link to what is shown. */
function keepAddress(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const state = explorer.shown.value?.state;
    if (state === undefined) return;
    const search = explorer.linkSearch(state.link);
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (search !== location.search) history.replaceState(null, '', `${location.pathname}${search}`);
    }, ADDRESS_MS);
  });
}
