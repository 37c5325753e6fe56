import { createApp } from '../../../src/http/app.ts';
import { replayOptionsOf } from '../../../src/http/replay/replay-resource.ts';
import { Sockets } from '../../../src/http/replay/socket.ts';
import { Replays } from '../../../src/replay/replays.ts';
import { openArchive } from '../../../src/store/archive.ts';
import { openRegistry } from '../../../src/store/registry.ts';
import { PaperDesks } from '../../../src/trading/paper-desks.ts';
import { DEFAULT_RULES } from '../../../src/trading/paper-rules.ts';

/**
 * A process that replays an archive at full speed as `bookreel replay --paused` does. With a number of orders and of markets it has accounts
 * as with --paper, and so many orders rest in each of the first markets from the start of the replay on; no request could place an order
 * before its market has a book.
 */
const [archivePath = '', orders = '0', markets = '0'] = process.argv.slice(2);
const CASH = 1_000_000_000_000;
const PRICES = 10;

const archive = openArchive(archivePath, 0, { create: false });
const registry = openRegistry(archivePath, { create: true });
const clocks = { monotonicMs: () => performance.now(), wallMs: Date.now };
const replays = new Replays(archive, clocks);
const fail = (error: unknown) => {
  console.error(error);
  process.exit(1);
};
const sockets = new Sockets(16, fail);
const desks = new PaperDesks(replays, { monotonicMs: clocks.monotonicMs, failed: fail });
const replay = replays.create({
  ...replayOptionsOf({ gaps: 'ignore' }),
  speed: 'max',
});
if (Number(orders) > 0) {
  const desk = desks.open(replay, { ...DEFAULT_RULES, cash: CASH, latencyMs: 0, takerDelayMs: 0 });
  const account = desk.account(`0x${'ab'.repeat(20)}`);
  for (const market of archive.database.read(() => replay.listedAt(Infinity)).slice(0, Number(markets))) {
    for (let n = 0; n < Number(orders); n += 1) {
      await desk.send(account, market, {
        ...{ id: `${market.key}-${n}`, outcome: n % 2 === 0 ? 'up' : 'down', side: 'buy', type: 'GTC' },
        ...{ price: (1 + (n % PRICES)) / 100, amount: 5_000_000, isPostOnly: false, expirationMs: undefined },
      });
    }
  }
}
const app = createApp({
  ...{ archive, registry, version: '0.0.0-bench', isDraining: () => false, logError: fail },
  clocks: () => ({ monotonicMs: performance.now(), wallMs: Date.now() }),
  replay: { replays, desks, sockets, needsKeys: false },
});
app.listen({ hostname: '127.0.0.1', port: 0 });
console.log(`ws://127.0.0.1:${app.server!.port}/ws/market`);
