import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { IS_FULL, sized } from '../support/campaign-size.ts';
import { expectedGrid, type OracleGap, type OracleSnapshot } from '../support/heat-map-oracle.ts';
import { randomsOf } from '../support/random-books.ts';
import { KINDS_OF_BOOKS, REAL_BOOKS, realBooksOf, realRecording } from '../support/real-recordings.ts';
import { type Service, serviceOf } from '../support/service.ts';

setDefaultTimeout(600_000);

const FIXTURES = join(import.meta.dir, '..', '..', 'fixtures');
const RECORDINGS: readonly (readonly [name: string, paths: string | readonly string[] | undefined])[] = [
  ['fixtures', join(FIXTURES, 'btc.ndjson.zst')],
  ['books-5m-parquet', IS_FULL ? REAL_BOOKS : realBooksOf(...KINDS_OF_BOOKS)],
  ['ws-capture-5m', realRecording('ws-capture-5m')],
  ['sessions-15m', realRecording('sessions-15m')],
  ['snapshots-1s', realRecording('snapshots-1s')],
  ['quotes-15m-csv', realRecording('quotes-15m-csv')],
];
const MARKETS_MAX = 3;
const ZOOMS = sized(8, 20);

interface Market {
  readonly conditionId: string;
  readonly startTime: string;
  readonly endTime: string;
  readonly snapshotCount: number;
}

async function dataOf<T>(service: Service, path: string): Promise<T> {
  const answer = await service.get(path);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { data: T }).data;
}

async function snapshotsOf(service: Service, path: string): Promise<OracleSnapshot[]> {
  const all: OracleSnapshot[] = [];
  for (let cursor = ''; ; ) {
    const answer = await service.get(`${path}&limit=1000${cursor}`);
    const { data, nextCursor } = (await answer.json()) as { data: OracleSnapshot[]; nextCursor: string | null };
    all.push(...data);
    if (nextCursor === null) return all;
    cursor = `&cursor=${nextCursor}`;
  }
}

describe.each(RECORDINGS)('the heat map of %s', (_, paths) => {
  test.skipIf(paths === undefined)('is the brute-force grid of the snapshots at random zooms', async () => {
    using held = temporaryArchive();
    await importPaths(held.archive, ...[paths!].flat());
    const service = serviceOf(held.archive, held.registry);
    const coins = await dataOf<{ symbol: string }[]>(service, '/coins');
    const random = randomsOf(7);
    let zooms = 0;
    for (const { symbol } of coins) {
      const markets = await dataOf<Market[]>(service, `/${symbol}/markets?include=counts&limit=1000`);
      const most = markets.toSorted((a, b) => b.snapshotCount - a.snapshotCount).slice(0, MARKETS_MAX);
      for (const { conditionId, startTime, endTime } of most) {
        const market = `/${symbol}/markets/${conditionId}`;
        const { gaps } = await dataOf<{ gaps: OracleGap[] }>(service, `${market}/coverage`);
        const outcome = random() > 0.5 ? 'up' : 'down';
        const snapshots = await snapshotsOf(service, `${market}/snapshots?outcome=${outcome}`);
        const [startMs, endMs] = [Date.parse(startTime) - 60_000, Date.parse(endTime) + 60_000];
        const instant = () => startMs + Math.floor(random() * (endMs - startMs));
        for (let zoom = 0; zoom < ZOOMS; zoom += 1) {
          const fromMs = instant();
          // From some milliseconds to the whole market.
          const toMs = Math.min(endMs, fromMs + Math.floor(random() ** 4 * (endMs - fromMs)));
          const window = { fromMs, toMs, columns: 1 + Math.floor(random() ** 2 * 400) };
          const query = `from=${fromMs}&to=${toMs}&columns=${window.columns}&outcome=${outcome}`;
          const data = await dataOf<object>(service, `${market}/heatmap?${query}`);
          expect(data).toMatchObject(expectedGrid(snapshots, gaps, window));
          zooms += 1;
        }
      }
    }
    expect(zooms).toBeGreaterThanOrEqual(ZOOMS);
  });
});
