import { render } from 'preact';
import type { Connection } from './connection.ts';
import { Explorer } from './explorer.ts';
import { MarketExplorer } from './market-explorer.tsx';
import { ReplayClock } from './replay-clock.ts';
import { keepAddress } from './view-address.ts';

/** Shows the market of the address. `workerUrl`: as Explorer takes it. Returns a function that ends it. */
export function showMarket(root: HTMLElement, connection: Connection, workerUrl: string): () => void {
  const [, , coin = '', market = ''] = location.pathname.split('/');
  const isOfReplay = connection.settings.prefix !== '';
  const replayId = isOfReplay ? new URLSearchParams(location.search).get('replay') : null;
  const explorer = new Explorer({
    connection,
    coin: coin.toLowerCase(),
    market,
    search: location.search,
    workerUrl,
    clock: root.dataset.replay === 'true' ? new ReplayClock(connection, replayId) : undefined,
  });
  render(<MarketExplorer explorer={explorer} />, root);
  const stop = explorer.start();
  const leaveAddress = keepAddress(explorer);
  return () => {
    leaveAddress();
    stop();
  };
}
