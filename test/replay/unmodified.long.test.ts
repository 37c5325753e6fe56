import { describe, expect, test } from 'bun:test';
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { EXECUTABLE, finished } from '../support/executable.ts';
import { START_MS, sampleCoinPrice, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { HAS_POLYMARKET_CLIENT } from './polymarket-client.ts';

const CLIENTS = join(import.meta.dir, '../venue-client/node_modules');
const MARKET = sampleMarket();
const AT = new Date(START_MS + 1000).toISOString();
/** Why the test is skipped; undefined if it can run. It needs a network of its own with a port below 1024. */
const LACKS =
  (await finished(['unshare', '-rnm', 'true'], { env: { PATH: process.env.PATH ?? '' } })).code === 0
    ? undefined
    : 'unshare';

describe.skipIf(!HAS_POLYMARKET_CLIENT || LACKS !== undefined)(
  'unmodified clients (need unshare and the clients)',
  () => {
    /** What a program of `unmodified/` prints, at the venue's own addresses, on a replay of these records. */
    async function printedBy(
      program: string,
      records: readonly object[],
      options: string,
      more = '',
    ): Promise<unknown> {
      using directory = temporaryDirectory();
      const inDirectory = (name: string) => join(directory.path, name);
      writeFileSync(inDirectory('recording.ndjson'), records.map((record) => JSON.stringify(record)).join('\n'));
      await outputOf(['import', inDirectory('recording.ndjson'), '--data', inDirectory('data')]);
      copyFileSync(join(import.meta.dir, 'unmodified', program), inDirectory(program));
      symlinkSync(CLIENTS, inDirectory('node_modules'));
      const script = `
      set -e
      cd ${directory.path}
      ip link set lo up
      ${EXECUTABLE} replay --data data --port 443 --paused --tls-recipe recipe ${options} > replay.log 2>&1 &
      until grep -qs ^REST replay.log; do kill -0 $! && sleep 0.05; done
      mount --bind recipe/hosts /etc/hosts
      NODE_EXTRA_CA_CERTS=recipe/ca.pem node ${program} ${MARKET.slug} ${more} || cat replay.log >&2
      kill $!`;
      const { stdout, stderr } = await finished(['unshare', '-rnm', 'sh', '-c', script], {
        env: { PATH: process.env.PATH ?? '', HOME: directory.path },
      });
      expect(stderr).toBe('');
      return JSON.parse(stdout);
    }

    test('The venue’s clients at the venue’s own addresses get a market that nobody has traded, sign an order for it, and get its coin’s price.', async () => {
      const records = [MARKET, sampleSnapshot({ timestamp: START_MS }), sampleCoinPrice({ timestamp: START_MS })];
      expect(await printedBy('clients.mjs', records, `--from ${AT}`)).toEqual({
        ...{ book: true, market: true, fee: 1000, second: true, third: true, orderType: 'GTC' },
        // 65 bytes in hexadecimal.
        signed: 132,
        price: 76_211.8,
      });
    }, 120_000);

    test('Both of the venue’s clients trade there: they authenticate, place, cancel, list, get events, and are paid at the end.', async () => {
      const snapshot = (afterMs: number) =>
        sampleSnapshot({ timestamp: START_MS + afterMs, asks: [{ price: 0.52, size: 20 }] });
      const records = [{ ...MARKET, winner: 'up' }, snapshot(0), snapshot(290_000)];
      const end = new Date(START_MS + 330_000).toISOString();
      const options = `--from ${AT} --to ${end} --paper --latency 0 --taker-delay 0 --fees none`;
      const settled = { TRADE_STATUS_MATCHED: 1, TRADE_STATUS_MINED: 1, TRADE_STATUS_CONFIRMED: 1 };
      const traded = {
        ...{ sameKey: true, sameId: true, placed: 'live', open: ['0'], order: 'LIVE', scoring: { scoring: false } },
        // 5 dollars at 0.52.
        ...{ canceled: 1, bought: 'matched', making: '5', taking: '9.615384' },
        killed: "order couldn't be fully filled. FOK orders are fully filled or killed.",
        poor: 'not enough balance / allowance: the balance is not enough -> balance: 9615384, order amount: 100000000',
        ...{ trades: ['TAKER'], shares: '9615384', closedOnly: false, batch: ['live', 'live'], cancelledOfMarket: 2 },
        ...{ all: 1, again: 'the order is already canceled', positions: 1, heartbeat: 36, cash: '1004615384' },
        activity: ['REDEEM', 'TRADE'],
        // An order that rested until the end, four that were cancelled, and one that was killed.
        events: { ...settled, CANCELLATION: 6, PLACEMENT: 5 },
      };
      expect(await printedBy('trading.mjs', records, options, end)).toEqual([traded, traded]);
    }, 120_000);
  },
);
