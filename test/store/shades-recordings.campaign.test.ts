import { expect, setDefaultTimeout, test } from 'bun:test';
import type { HeatMap } from '../../src/domain/heat-map.ts';
import { shadeOf, sizeRange } from '../../src/domain/heat-map-picture.ts';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import type { Archive } from '../../src/store/archive.ts';
import { heatMapSteps } from '../../src/store/heat-map.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { REAL_BOOKS, realRecording } from '../support/real-recordings.ts';

setDefaultTimeout(600_000);

const EIGHT = 8;
const COLUMNS = 1000;
/** A market recorded for a shorter part has books of one kind only: in 14 s of a capture 59 % of the cells have the first shade. */
const COLUMNS_MIN = COLUMNS / 10;

test.skipIf(REAL_BOOKS === undefined)(
  'On real markets at most 40 percent of the cells with shares have the same of eight shades. (needs the real recordings)',
  async () => {
    const shares: Record<string, number> = {};
    for (const path of [REAL_BOOKS, realRecording('ws-capture-5m'), realRecording('snapshots-1s')]) {
      using held = temporaryArchive();
      await importPaths(held.archive, path!);
      Object.assign(shares, sharesOf(held.archive));
    }
    expect(Object.keys(shares).length).toBeGreaterThan(20);
    expect(Object.entries(shares).filter(([, share]) => share > 0.4)).toEqual([]);
  },
);

/** The share of the most frequent shade, by market and outcome. */
function sharesOf(archive: Archive): Record<string, number> {
  const shares: Record<string, number> = {};
  for (const symbol of archive.database.read(() => archive.recordedCoins.symbols())) {
    for (const market of archive.markets.list(symbol, undefined, 1000, 0)) {
      for (const outcome of OUTCOMES) {
        const map = heatMapOf(archive, market, outcome);
        const range = sizeRange({ heatMaps: [map], fromMs: market.startMs, toMs: market.endMs + 1 });
        const books = map.columns.flatMap(({ book }) => book ?? []);
        if (range === undefined || books.length < COLUMNS_MIN) continue;
        const counts = new Array<number>(EIGHT).fill(0);
        for (const { bids, asks } of books) {
          for (const size of [...bids.sizes, ...asks.sizes]) {
            counts[shadeOf(size, { scale: 'log', shades: EIGHT, ...range })]! += 1;
          }
        }
        shares[`${market.slug} ${outcome}`] = Math.max(...counts) / counts.reduce((sum, count) => sum + count);
      }
    }
  }
  return shares;
}

function heatMapOf(archive: Archive, market: StoredMarket, outcome: Outcome): HeatMap {
  const { startMs: fromMs, endMs: toMs } = market;
  const steps = heatMapSteps(archive, market, { outcome, fromMs, toMs, columns: COLUMNS, asOfMs: undefined });
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
