import { describe, expect, test } from 'bun:test';
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, finished, printed } from '../support/executable.ts';
import { START_MS, sampleCoinPrice, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { HAS_POLYMARKET_CLIENT } from './polymarket-client.ts';

const CLIENTS = join(import.meta.dir, '../venue-client/node_modules');
const MARKET = sampleMarket();
/** Why the test is skipped; undefined if it can run. It needs a network of its own with a port below 1024. */
const LACKS =
  (await finished(['unshare', '-rnm', 'true'], { env: { PATH: process.env.PATH ?? '' } })).code === 0
    ? undefined
    : 'unshare';

describe.skipIf(!HAS_POLYMARKET_CLIENT || LACKS !== undefined)(
  'unmodified clients (need unshare and the clients)',
  () => {
    test('The venue’s clients at the venue’s own addresses get a market that nobody has traded, sign an order for it, and get its coin’s price.', async () => {
      using directory = temporaryDirectory();
      const inDirectory = (name: string) => join(directory.path, name);
      const records = [MARKET, sampleSnapshot({ timestamp: START_MS }), sampleCoinPrice({ timestamp: START_MS })];
      writeFileSync(inDirectory('recording.ndjson'), records.map((record) => JSON.stringify(record)).join('\n'));
      await printed(['import', inDirectory('recording.ndjson'), '--data', inDirectory('data')]);
      copyFileSync(join(import.meta.dir, 'unmodified/clients.mjs'), inDirectory('clients.mjs'));
      symlinkSync(CLIENTS, inDirectory('node_modules'));
      const at = new Date(START_MS + 1000).toISOString();
      const script = `
      set -e
      cd ${directory.path}
      ip link set lo up
      ${EXECUTABLE} replay --data data --from ${at} --port 443 --paused --tls-recipe recipe > replay.log 2>&1 &
      until grep -q ^REST replay.log; do kill -0 $! && sleep 0.05; done
      mount --bind recipe/hosts /etc/hosts
      NODE_EXTRA_CA_CERTS=recipe/ca.pem node clients.mjs ${MARKET.slug} || cat replay.log >&2
      kill $!`;
      const { stdout, stderr } = await finished(['unshare', '-rnm', 'sh', '-c', script], {
        env: { PATH: process.env.PATH ?? '', HOME: directory.path },
      });
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toEqual({
        ...{ book: true, market: true, fee: 1000, second: true, third: true, orderType: 'GTC' },
        // 65 bytes in hexadecimal.
        signed: 132,
        price: 76_211.8,
      });
    }, 60_000);
  },
);
