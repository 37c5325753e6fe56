import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { unpack } from 'msgpackr';
import { createKey } from '../../src/account/account-keys.ts';
import { HEAT_MAPS_PER_KEY_MAX } from '../../src/http/v1/heatmap.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { expectedGrid, type OracleSnapshot } from '../support/heat-map-oracle.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, LIGHT_START_MS, lightSnapshot } from '../support/light-recording.ts';
import { type Service, startService } from './service.ts';

const SNAPSHOTS = 1600;
const LEVELS = 60;
const PATH = `/v1/btc/markets/${LIGHT_CONDITION_ID}/heatmap`;
const WINDOW = { fromMs: LIGHT_START_MS, toMs: LIGHT_START_MS + 10 * SNAPSHOTS, columns: 700 };
const LARGE = `${PATH}?from=${WINDOW.fromMs}&to=${WINDOW.toMs}&columns=${WINDOW.columns}`;

const resolvedMarket = { ...LIGHT_MARKET, winner: 'up', closed: true };
const snapshots = (count: number) => Array.from({ length: count }, (_, index) => lightSnapshot(index, LEVELS));

/** Those of up, with the ids that the service gives, in the order of time. */
async function servedSnapshots(ask: Ask): Promise<OracleSnapshot[]> {
  const all: OracleSnapshot[] = [];
  for (let cursor = ''; ; ) {
    const answer = await ask(`${PATH.replace('heatmap', 'snapshots')}?outcome=up&limit=1000${cursor}`);
    const { data, nextCursor } = (await answer.json()) as { data: OracleSnapshot[]; nextCursor: string | null };
    all.push(...data);
    if (nextCursor === null) return all;
    cursor = `&cursor=${nextCursor}`;
  }
}

type Ask = (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>;

function askOf(service: Service): Ask {
  const request = { account: 'test@localhost', name: undefined, tier: 'enterprise', requestsPerMinute: 1_000_000 };
  const { key } = createKey(service.registry, NOW_MS, request);
  return async (path, headers = {}) =>
    await fetch(`${service.origin}${path}`, { headers: { ...headers, authorization: `Bearer ${key}` } });
}

describe('a large heat map', () => {
  let service: Service;
  let ask: Ask;
  let expected: ReturnType<typeof expectedGrid>;
  beforeAll(async () => {
    service = startService();
    await importRecords(service.archive, [resolvedMarket, ...snapshots(SNAPSHOTS)]);
    ask = askOf(service);
    expected = expectedGrid(await servedSnapshots(ask), [], WINDOW);
  });
  afterAll(async () => await service[Symbol.asyncDispose]());

  test('is the brute-force grid in every format, from the cache too', async () => {
    for (const encoding of ['identity', 'zstd', 'gzip']) {
      const tags = new Set<string | null>();
      for (let time = 0; time < 3; time += 1) {
        const answer = await ask(LARGE, { 'accept-encoding': encoding });
        tags.add(answer.headers.get('etag'));
        expect(((await answer.json()) as { data: object }).data).toMatchObject(expected);
      }
      expect(tags.size).toBe(1);
    }
    const packed = await ask(LARGE, { accept: 'application/msgpack' });
    const { data } = unpack(new Uint8Array(await packed.arrayBuffer())) as { data: object };
    expect(data).toMatchObject(expected);
    const etag = packed.headers.get('etag')!;
    expect((await ask(LARGE, { accept: 'application/msgpack', 'if-none-match': etag })).status).toBe(304);
  });

  test('lets other requests run, one step at a time', async () => {
    let turns = 0;
    let isMade = false;
    const count = () => {
      turns += 1;
      if (!isMade) setImmediate(count);
    };
    setImmediate(count);
    await (await ask(`${LARGE}&asOf=${WINDOW.toMs}`)).arrayBuffer();
    isMade = true;
    // 700 columns are encoded 16 at a time, and their 240,000 levels were summed in several steps before.
    expect(turns).toBeGreaterThan(50);
  });

  test('A key may have 8 of the 32 large heat maps that are made at a time, and delays those of no other key.', async () => {
    const other = askOf(service);
    const asked = Array.from({ length: 3 * HEAT_MAPS_PER_KEY_MAX }, (_, i) => ask(`${LARGE}&asOf=${WINDOW.toMs - i}`));
    expect((await other(`${LARGE}&asOf=${WINDOW.toMs - 100}`)).status).toBe(200);
    const answers = await Promise.all(asked);
    const statuses = answers.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(((await refused.json()) as { detail: string }).detail).toBe(
      '8 heat maps are open with this key: close one of them and try again',
    );
    expect((await ask(`${LARGE}&asOf=${WINDOW.toMs - 200}`)).status).toBe(200);
  });
});

test('A large heat map is made in turns, and shows one state of the market under the tag of that state.', async () => {
  await using service = startService();
  const ask = askOf(service);
  await importRecords(service.archive, [resolvedMarket, ...snapshots(SNAPSHOTS - 200)]);
  const grids = [expectedGrid(await servedSnapshots(ask), [], WINDOW)];
  const { headers } = await ask(LARGE, { 'accept-encoding': 'identity' });
  const again = () => ask(`${LARGE}&outcome=up`, { 'accept-encoding': 'identity' });
  const asked = Array.from({ length: 4 }, again);
  await importRecords(service.archive, snapshots(SNAPSHOTS).slice(-200));
  const answers = await Promise.all([...asked, again()]);
  grids.push(expectedGrid(await servedSnapshots(ask), [], WINDOW));
  const tags = new Map<string, string>();
  for (const answer of answers) {
    const { data } = (await answer.json()) as { data: object };
    const shown = grids.findIndex((grid) => Bun.deepMatch(grid, data));
    expect(shown).toBeGreaterThanOrEqual(0);
    const etag = answer.headers.get('etag')!;
    expect(tags.get(etag) ?? String(shown)).toBe(String(shown));
    tags.set(etag, String(shown));
  }
  const after = await ask(LARGE, { 'accept-encoding': 'identity' });
  expect(after.headers.get('etag')).not.toBe(headers.get('etag'));
  expect(((await after.json()) as { data: object }).data).toMatchObject(grids[1]!);
});
