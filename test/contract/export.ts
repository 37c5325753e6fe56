import { describe, expect, test } from 'bun:test';
import { tableFromIPC } from 'apache-arrow';
import { parquetReadObjects } from 'hyparquet';
import { UnpackrStream } from 'msgpackr';
import { readSnapshots } from '../../src/client/segment-reader.ts';
import type { Client, ProblemDocument, Reply } from './client.ts';
import { expectedMarket, expectedSnapshots } from './oracle.ts';
import { BOOKS, EMPTY, type MarketRecord, NEAREST, PRICES, QUOTES, RECORDED, SOL, T0 } from './recording.ts';
import type { Suite } from './target.ts';

const FORMATS = {
  ndjson: 'application/x-ndjson',
  msgpack: 'application/x-msgpack-stream',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
  segments: 'application/vnd.bookreel.segments',
} as const;
type Format = keyof typeof FORMATS;
const NAMES = Object.keys(FORMATS) as Format[];

type Line = Readonly<Record<string, unknown>> & { readonly type: string; readonly timestamp?: string };

const pathOf = ({ symbol, conditionId }: MarketRecord) => `/v1/${symbol}/markets/${conditionId}/export`;
const linesOf = ({ text }: Reply) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

/** The expected export of a market: the market's record, then its other records by (timestamp, id). */
function expectedLines(market: MarketRecord): Line[] {
  const { type: _, ...stated } = market;
  const { conditionId } = market;
  const whole = expectedMarket(market);
  const marketLine: Line = {
    type: 'market',
    ...Object.fromEntries(Object.entries(whole).filter(([name, value]) => name in stated && value !== null)),
  };
  const own = (record: { conditionId: string }) => record.conditionId === conditionId;
  const about = ({ id, outcome, timestamp }: { id?: number; outcome: string; timestamp: number }) => ({
    id: String(id),
    conditionId: conditionId.toLowerCase(),
    outcome,
    timestamp: new Date(timestamp).toISOString(),
  });
  const number = (text: string | null) => (text === null ? null : Number(text));
  const snapshots = expectedSnapshots(market).map(({ id, outcome, timestamp, bids, asks }) => ({
    type: 'snapshot',
    ...about({ id: Number(id), outcome, timestamp: Date.parse(timestamp) }),
    bids,
    asks,
  }));
  const quotes = QUOTES.filter(own).map((record) => ({
    type: 'quote',
    ...about(record),
    bidPrice: number(record.bidPrice),
    bidSize: number(record.bidSize),
    askPrice: number(record.askPrice),
    askSize: number(record.askSize),
  }));
  const prices = PRICES.filter(own).map((record) => ({
    type: 'price',
    ...about(record),
    price: Number(record.price),
    kind: record.kind,
  }));
  const records = [...snapshots, ...quotes, ...prices].sort(
    (a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp) || Number(BigInt(a.id) - BigInt(b.id)),
  );
  return [marketLine, ...records];
}

/** A record of a page as a recording has it: without the fields of its market, and without those that are computed. */
function ofRecording(kind: string, { assetId, symbol, timeframe, mid, spread, ...fields }: Line): Line {
  return { ...fields, type: kind.slice(0, -1) };
}

/** Whether a record of a page is no quote and no midpoint that was derived from books: those are in pages only. */
function isRecorded({ conditionId, outcome, kind, ...fields }: Line): boolean {
  const isOfSeries = (record: { conditionId: string; outcome: string; kind?: string }) =>
    record.conditionId.toLowerCase() === conditionId && record.outcome === outcome && record.kind === kind;
  if ('bidPrice' in fields) return QUOTES.some(isOfSeries);
  return 'price' in fields ? PRICES.some(isOfSeries) : true;
}

/** The rows of a flat table of these records. */
function rowsOf(lines: readonly Line[]): number {
  const rows = lines.map((line) => {
    if (line.type === 'quote') return Math.max(1, Number(line.bidPrice !== null) + Number(line.askPrice !== null));
    if (line.type !== 'snapshot') return 1;
    return Math.max(1, (line.bids as unknown[]).length + (line.asks as unknown[]).length);
  });
  return rows.reduce((sum, count) => sum + count, 0);
}

async function rowsOfParquet({ bytes }: Reply): Promise<Record<string, unknown>[]> {
  const compressors = { ZSTD: (page: Uint8Array) => Bun.zstdDecompressSync(new Uint8Array(page)) };
  return await parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors });
}

async function unpackedStream(bytes: Uint8Array): Promise<unknown[]> {
  const stream = new UnpackrStream({ useRecords: false, mapsAsObjects: true });
  stream.end(Buffer.from(bytes));
  const values: unknown[] = [];
  for await (const value of stream) values.push(value);
  return values;
}

/** One market as a recording, in one answer. */
export function exportTests(suite: Suite): void {
  const get: Client = (...asked) => suite.client(...asked);

  test.each([[BOOKS], [RECORDED], [EMPTY], [NEAREST], [SOL]])(
    '$slug is its market, then every record of it in order',
    async (market) => {
      const reply = await get(pathOf(market));
      expect(reply.status).toBe(200);
      expect(linesOf(reply)).toEqual(expectedLines(market));
      expect(linesOf(reply).map((line) => Object.keys(line)[0])).toEqual(linesOf(reply).map(() => 'type'));
    },
  );

  test('a slug, another case and a trailing slash are the same market', async () => {
    const { text } = await get(pathOf(BOOKS));
    for (const path of [
      `/v1/BTC/markets/${BOOKS.slug.toUpperCase()}/export`,
      `/v1/btc/markets/${BOOKS.conditionId.toUpperCase().replace('0X', '0x')}/export/`,
      `${pathOf(BOOKS)}?format=ndjson`,
    ]) {
      expect((await get(path)).text === text, path).toBe(true);
    }
  });

  test('msgpack is the same records', async () => {
    for (const market of [BOOKS, RECORDED, EMPTY]) {
      const { bytes } = await get(`${pathOf(market)}?format=msgpack`);
      expect(await unpackedStream(bytes)).toEqual(linesOf(await get(pathOf(market))));
    }
  });

  test('csv, parquet and arrow have a row per level, and at least one row per record', async () => {
    const lines = linesOf(await get(pathOf(RECORDED)));
    const rows = rowsOf(lines);
    const csv = await get(`${pathOf(RECORDED)}?format=csv`);
    expect(csv.text.split('\n').length).toBe(rows + 2);
    const parquet = await get(`${pathOf(RECORDED)}?format=parquet`);
    const read = await rowsOfParquet(parquet);
    expect(read.length).toBe(rows);
    expect([...new Set(read.map(({ type }) => type))].sort()).toEqual(['market', 'price', 'quote', 'snapshot']);
    const arrow = await get(`${pathOf(RECORDED)}?format=arrow`);
    expect(arrow.headers.get('content-type')).toBe('application/vnd.apache.arrow.stream');
    expect(arrow.headers.get('content-disposition')).toBe(`attachment; filename="${RECORDED.slug}.arrow"`);
    const frame = tableFromIPC(arrow.bytes);
    expect(frame.toArray().map(({ type }) => type)).toEqual(read.map(({ type }) => type));
  });

  test('segments are the snapshots of the pages, read with the reader that is served, of windows too', async () => {
    for (const [market, question] of [
      [BOOKS, ''],
      [RECORDED, ''],
      [NEAREST, ''],
      [EMPTY, ''],
      [BOOKS, `&from=${T0 + 2000}&to=${T0 + 9000}`],
      [BOOKS, '&outcome=down'],
    ] as const) {
      const { bytes } = await get(`${pathOf(market)}?format=segments${question}`);
      const found = await Array.fromAsync(readSnapshots(bytes));
      const pages: unknown[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const path: string = `/v1/${market.symbol}/markets/${market.conditionId}/snapshots?limit=50${question}${cursor}`;
        const { data, nextCursor } = (await get(path)).json<{ data: unknown[]; nextCursor: string | null }>();
        pages.push(...data);
        cursor = nextCursor === null ? null : `&cursor=${nextCursor}`;
      }
      expect(found).toEqual(pages as typeof found);
    }
  });

  test.each([
    'interval=1s',
    'interval=5s&outcome=down',
    'interval=100ms&depth=1',
    'outcome=UP',
    'depth=2',
    `interval=5s&depth=1&from=${T0 + 2001}&to=${T0 + 9000}`,
    `interval=1d&asOf=${T0 + 6000}`,
  ])('An export has the records of the pages with the same parameters, in every format. (%s)', async (query) => {
    for (const market of [BOOKS, RECORDED, NEAREST]) {
      const records: Line[] = [];
      for (const kind of ['snapshots', 'quotes', 'prices']) {
        const asked = kind === 'snapshots' ? query : query.replace(/&?depth=\d+/, '');
        for (let cursor: string | null = ''; cursor !== null; ) {
          const path: string = `/v1/${market.symbol}/markets/${market.conditionId}/${kind}?limit=50&${asked}${cursor}`;
          const { data, nextCursor } = (await get(path)).json<{ data: Line[]; nextCursor: string | null }>();
          records.push(...data.filter(isRecorded).map((record) => ofRecording(kind, record)));
          cursor = nextCursor === null ? null : `&cursor=${nextCursor}`;
        }
      }
      records.sort(
        (a, b) =>
          Date.parse(a.timestamp!) - Date.parse(b.timestamp!) || Number(BigInt(String(a.id)) - BigInt(String(b.id))),
      );
      const ndjson = linesOf(await get(`${pathOf(market)}?${query}`));
      const found = ndjson.filter(({ type }) => type !== 'market' && type !== 'gap');
      expect(found.length).toBeGreaterThan(0);
      expect(found).toEqual(records);
      const msgpack = await get(`${pathOf(market)}?${query}&format=msgpack`);
      expect(await unpackedStream(msgpack.bytes)).toEqual(ndjson);
      const csv = await get(`${pathOf(market)}?${query}&format=csv`);
      expect(csv.text.split('\n').length).toBe(rowsOf(ndjson) + 2);
      const parquet = await get(`${pathOf(market)}?${query}&format=parquet`);
      expect((await rowsOfParquet(parquet)).length).toBe(rowsOf(ndjson));
      const arrow = await get(`${pathOf(market)}?${query}&format=arrow`);
      expect(tableFromIPC(arrow.bytes).numRows).toBe(rowsOf(ndjson));
    }
  });

  test('from and to limit the records, both inclusive; the market is always there', async () => {
    const lines = expectedLines(RECORDED);
    const times = [
      ...new Set(lines.flatMap(({ timestamp }) => (timestamp === undefined ? [] : [Date.parse(timestamp)]))),
    ].sort();
    const middle = times[Math.floor(times.length / 2)]!;
    const cases: readonly (readonly [string, number, number])[] = [
      [`from=${middle}`, middle, Number.MAX_SAFE_INTEGER],
      [`to=${new Date(middle).toISOString()}`, 0, middle],
      [`from=${times[3]}&to=${middle}`, times[3]!, middle],
      [`from=${middle + 1}`, middle + 1, Number.MAX_SAFE_INTEGER],
      [`from=${times.at(-1)! + 1}`, times.at(-1)! + 1, Number.MAX_SAFE_INTEGER],
    ];
    for (const [query, from, to] of cases) {
      const expected = lines.filter(({ timestamp }) => {
        const ms = timestamp === undefined ? from : Date.parse(timestamp);
        return ms >= from && ms <= to;
      });
      expect(linesOf(await get(`${pathOf(RECORDED)}?${query}`)), query).toEqual(expected);
    }
  });

  test('a client that was cut off continues from its last record, and misses nothing', async () => {
    const { text } = await get(pathOf(BOOKS));
    const whole = text.split('\n').slice(0, -1);
    for (const had of [2, 57, whole.length - 1]) {
      const { timestamp } = JSON.parse(whole[had - 1]!) as Line;
      const [, ...rest] = (await get(`${pathOf(BOOKS)}?from=${timestamp}`)).text.split('\n').slice(0, -1);
      expect([...new Set([...whole.slice(0, had), ...rest])]).toEqual(whole);
      const again = rest.filter((line) => whole.indexOf(line) < had);
      for (const line of again) expect((JSON.parse(line) as Line).timestamp).toBe(timestamp!);
    }
  });

  describe.each(NAMES)('%s', (format) => {
    const path = `${pathOf(BOOKS)}?format=${format}`;

    test('has a media type and a file name', async () => {
      const { headers } = await get(path);
      expect(headers.get('content-type')).toBe(FORMATS[format]);
      expect(headers.get('content-disposition')).toBe(`attachment; filename="${BOOKS.slug}.${format}"`);
      expect(headers.get('vary')?.toLowerCase()).toContain('accept-encoding');
      expect(headers.get('cache-control')).toBe('private, no-cache');
    });

    test('is the same bytes every time, also compressed', async () => {
      const { bytes } = await get(path);
      expect(Buffer.from((await get(path)).bytes).equals(Buffer.from(bytes))).toBe(true);
      const unpack = {
        zstd: Bun.zstdDecompressSync,
        gzip: (packed: Uint8Array<ArrayBuffer>) => Bun.gunzipSync(packed),
      };
      for (const encoding of ['zstd', 'gzip'] as const) {
        const reply = await get(path, { headers: { 'accept-encoding': encoding } });
        expect(reply.headers.get('content-encoding')).toBe(encoding);
        expect(Buffer.from(unpack[encoding](new Uint8Array(reply.bytes))).equals(Buffer.from(bytes))).toBe(true);
      }
    });

    test('has a strong entity tag once the market is resolved, and If-None-Match gets a 304', async () => {
      const etag = (await get(path)).headers.get('etag')!;
      expect(etag).toMatch(/^"[\x21\x23-\x7e]+"$/);
      expect((await get(path)).headers.get('etag')).toBe(etag);
      for (const method of ['GET', 'HEAD']) {
        const reply = await get(path, { method, headers: { 'if-none-match': etag } });
        expect(reply.status).toBe(304);
        expect(reply.headers.get('etag')).toBe(etag);
      }
      expect((await get(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
      expect((await get(`${pathOf(RECORDED)}?format=${format}`)).headers.has('etag')).toBe(false);
    });

    test('HEAD has the headers of GET, without a length', async () => {
      for (const headers of [{}, { 'accept-encoding': 'zstd' }] as const) {
        const whole = await get(path, { headers });
        const head = await get(path, { method: 'HEAD', headers });
        expect(head.status).toBe(200);
        expect(head.bytes.length).toBe(0);
        expect(head.headers.has('content-length')).toBe(false);
        for (const name of [
          'content-type',
          'content-disposition',
          'content-encoding',
          'etag',
          'vary',
          'cache-control',
        ]) {
          expect(head.headers.get(name), name).toBe(whole.headers.get(name));
        }
      }
    });
  });

  test('different answers have different tags', async () => {
    const questions = [
      ...NAMES.map((format) => `?format=${format}`),
      ...[`?from=${T0 + 1}`, `?to=${T0 + 2}`, '?outcome=up', '?interval=1s', '?depth=1'],
    ];
    const tags = new Set<string>();
    for (const question of questions) {
      for (const encoding of ['identity', 'gzip', 'zstd']) {
        tags.add(
          (await get(`${pathOf(BOOKS)}${question}`, { headers: { 'accept-encoding': encoding } })).headers.get('etag')!,
        );
      }
    }
    expect(tags.size).toBe(questions.length * 3);
  });

  test.each([
    ['?format=xml', 400, 'format'],
    ['?format=', 400, 'format'],
    ['?format=sqlite', 400, 'format'],
    ['?format=NDJSON', 400, 'format'],
    [`?from=${T0 + 1}&to=${T0}`, 400, 'from'],
    ['?format=segments&interval=1s', 400, 'format'],
    ['?format=segments&depth=10', 400, 'format'],
    ['?format=csv&depth=0', 400, 'depth'],
    ['?interval=99ms', 400, 'interval'],
  ])('SQLite is exported by the command only. (%s: %d)', async (query, status, name) => {
    for (const condition of [{}, { 'if-none-match': '*' }]) {
      const reply = await get(`${pathOf(BOOKS)}${query}`, { headers: condition });
      expect(reply.status).toBe(status);
      expect(reply.json<ProblemDocument>().issues).toMatchObject([{ in: 'query', name }]);
    }
  });

  test('an unknown market is a 404, and OPTIONS works', async () => {
    expect((await get('/v1/btc/markets/0x99/export')).status).toBe(404);
    expect((await get('/v1/nosuch/markets/0x99/export')).status).toBe(404);
    expect((await get(pathOf(BOOKS), { method: 'OPTIONS' })).status).toBe(204);
    expect((await get(pathOf(BOOKS), { method: 'POST' })).status).toBe(405);
  });

  test.skipIf(!suite.reach.operated)(
    'it needs a tier that grants export: those that grant all, and those that say so',
    async () => {
      for (const [tier, status] of [
        ['free', 403],
        ['starter', 403],
        ['pro', 200],
        ['enterprise', 200],
      ] as const) {
        const { key } = await suite.target.makeKey(tier);
        expect((await get(pathOf(BOOKS), { key })).status, tier).toBe(status);
      }
      expect((await get(pathOf(BOOKS), { key: null })).status).toBe(401);
      const { key } = await suite.target.makeKey('starter', { rpm: 1000 });
      await suite.target.setTier('starter', { routes: ['export'] });
      try {
        expect((await get(pathOf(BOOKS), { key })).status).toBe(200);
        expect((await get(`/v1/btc/markets/${BOOKS.conditionId}/snapshots`, { key })).status).toBe(403);
      } finally {
        await suite.target.setTier('starter', { routes: ['markets', 'prices', 'snapshots', 'quotes'] });
      }
    },
  );

  test.skipIf(!suite.reach.operated)('an export counts as one request', async () => {
    const { key } = await suite.target.makeKey('pro', { rpm: 100 });
    const remaining = async () => Number((await get(pathOf(BOOKS), { key })).headers.get('x-ratelimit-remaining'));
    expect(await remaining()).toBe(99);
    expect(await remaining()).toBe(98);
  });
}
