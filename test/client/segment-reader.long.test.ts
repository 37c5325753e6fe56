import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Level, readSnapshots, type Snapshot } from '../../src/client/segment-reader.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import type { ExportRequest } from '../../src/export/selection.ts';
import { FIRST_LINE } from '../../src/segment/segment-frames.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { StoredMarket } from '../../src/store/markets.ts';
import { exported } from '../export/exported.ts';
import { generatedRecording } from '../export/generated-recording.ts';
import { importPaths, importRecords, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { type BookStyle, randomBooks, randomsOf } from '../support/random-books.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { CONDITION_ID, START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { bodyOf, frame, framesOf, sealed, typesOf } from '../support/sealed-frames.ts';
import { type Service, serviceOf } from '../support/service.ts';

setDefaultTimeout(120_000);

const RUNS = { seed: 20260416, numRuns: 15 };
const DIGEST_BYTES = 32;
const SOURCE = join(import.meta.dir, '..', '..', 'src', 'client', 'segment-reader.ts');

async function segmentsOf(archive: Archive, request: Partial<ExportRequest> = {}) {
  return new Uint8Array((await exported(archive, 'segments', request)).bytes);
}

async function read(source: Parameters<typeof readSnapshots>[0]): Promise<Snapshot[]> {
  const snapshots: Snapshot[] = [];
  for await (const snapshot of readSnapshots(source)) snapshots.push(snapshot);
  return snapshots;
}

/** All snapshots of a market, from the API's pages. */
async function pagesOf({ get }: Service, { symbol, conditionId }: StoredMarket, window = ''): Promise<Snapshot[]> {
  const snapshots: Snapshot[] = [];
  for (let cursor = ''; ; ) {
    const answer = await get(`/${symbol}/markets/${conditionId}/snapshots?limit=1000${window}${cursor}`);
    const { data, nextCursor } = (await answer.json()) as { data: Snapshot[]; nextCursor: string | null };
    snapshots.push(...data);
    if (nextCursor === null) return snapshots;
    cursor = `&cursor=${nextCursor}`;
  }
}

/** The snapshots of all markets, in the order of an export. */
async function allPagesOf(archive: Archive): Promise<Snapshot[]> {
  const service = serviceOf(archive);
  const snapshots: Snapshot[] = [];
  for (const coin of archive.markets.coins()) {
    for (
      let market = archive.markets.after(coin, undefined);
      market !== undefined;
      market = archive.markets.after(coin, market)
    ) {
      snapshots.push(...(await pagesOf(service, market)));
    }
  }
  return snapshots;
}

/** Equal, also in the order of the fields. */
function expectSame(found: readonly Snapshot[], expected: readonly Snapshot[]): void {
  expect(found.length).toBe(expected.length);
  for (const [i, snapshot] of found.entries()) expect(JSON.stringify(snapshot)).toBe(JSON.stringify(expected[i]));
}

/** A stream of `bytes` in chunks of these `lengths`, repeated until the end. */
function streamOf(bytes: Uint8Array, lengths: readonly number[], onCancel = () => undefined) {
  let at = 0;
  let turn = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const length = lengths[turn++ % lengths.length]!;
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, at + length));
      at += length;
    },
    cancel: onCancel,
  });
}

const levels = (prices: readonly number[], sizes: readonly number[]): Level[] =>
  prices.map((price, i) => ({ price, size: sizes[i]! }));

function recordsOf(books: readonly OrderBook[], outcome: 'up' | 'down', stepMs: number): object[] {
  return books.map((book, i) =>
    sampleSnapshot({
      outcome,
      timestamp: START_MS + Math.floor(i * stepMs),
      bids: levels(book.bidPrices, book.bidSizes),
      asks: levels(book.askPrices, book.askSizes),
    }),
  );
}

/** Books whose sizes change by a few amounts again and again: by more amounts than a segment's table has. */
function steppedBooks(): OrderBook[] {
  const random = randomsOf(11);
  const below = (count: number) => Math.floor(random() * count);
  // In hundredths, so that sums are exact.
  const amounts = Array.from({ length: 24 }, (_, i) => (i % 3 === 0 ? 100 * (i + 2) : 801 + 3 * i));
  const prices = Array.from({ length: 12 }, (_, i) => i / 100);
  const sizes = [prices.map(() => 500_000), prices.map(() => 700_050)] as const;
  return Array.from({ length: 250 }, () => {
    for (const side of sizes) {
      for (let changes = below(4); changes > 0; changes -= 1) {
        const sign = random() < 0.5 ? -1 : 1;
        side[below(side.length)]! += sign * amounts[below(amounts.length)]!;
      }
    }
    const [bidSizes, askSizes] = sizes.map((side) => side.map((size) => size / 100));
    return { bidPrices: prices.toReversed(), bidSizes: bidSizes!, askPrices: prices, askSizes: askSizes! };
  });
}

const style: fc.Arbitrary<BookStyle> = fc.record({
  priceScale: fc.constantFrom(0, 1, 2, 3, 4, 12),
  sizes: fc.constantFrom('whole', 'cents', 'millionths', 'mixed', 'extremes'),
  levelsMax: fc.constantFrom(1, 5, 40, 150),
  changesMax: fc.constantFrom(0, 1, 3, 20),
});

describe('the snapshots of an export', () => {
  test('are those of the API’s pages, in their order: books of any scale, empty sides, full segments', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 2 ** 30 }),
        fc.tuple(style, style),
        fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 300 })),
        // Steps below a millisecond: several snapshots share a timestamp.
        fc.constantFrom(0.2, 1, 97.3),
        async (seed, [upStyle, downStyle], [upCount, downCount], stepMs) => {
          using place = temporaryArchive();
          const up = recordsOf(randomBooks(seed, upCount, upStyle), 'up', stepMs);
          const down = recordsOf(randomBooks(seed + 1, downCount, downStyle), 'down', stepMs);
          expect((await importRecords(place.archive, [sampleMarket(), ...up, ...down])).rejections).toEqual([]);
          const expected = await allPagesOf(place.archive);
          expect(expected.length).toBeGreaterThan(0);
          expectSame(await read(await segmentsOf(place.archive)), expected);
        },
      ),
      RUNS,
    );
  });

  test('are read from recordings of several markets that also have other types of records', async () => {
    for (let seed = 1; seed <= 12; seed += 1) {
      using place = temporaryArchive();
      await importRecords(place.archive, generatedRecording(seed));
      expectSame(await read(await segmentsOf(place.archive)), await allPagesOf(place.archive));
    }
  });

  test('A segments export has whole segments, and states which of their records belong to it.', async () => {
    using place = temporaryArchive();
    const books = randomBooks(7, 700, { priceScale: 2, sizes: 'cents', levelsMax: 20, changesMax: 2 });
    const records = [...recordsOf(books.slice(0, 400), 'up', 10), ...recordsOf(books.slice(400), 'down', 13)];
    await importRecords(place.archive, [sampleMarket(), ...records]);
    const market = place.archive.markets.findByConditionId(CONDITION_ID)!;
    const service = serviceOf(place.archive);
    const whole = await pagesOf(service, market);
    const times = whole.map(({ timestamp }) => Date.parse(timestamp));
    for (const [first, last] of [
      [0, 0],
      [1, 698],
      [130, 131],
      [255, 513],
      [699, 699],
    ] as const) {
      const [fromMs, toMs] = [times[first]!, times[last]!];
      const expected = await pagesOf(service, market, `&from=${fromMs}&to=${toMs}`);
      expect(expected.length).toBeLessThan(whole.length);
      expectSame(await read(await segmentsOf(place.archive, { fromMs, toMs })), expected);
    }
  });

  test.each<[string, readonly OrderBook[]]>([
    [
      'sizes that no scale makes integers',
      [
        { bidPrices: [0.5, 0.000000000001], bidSizes: [100_000_000_000_000, 1e-12], askPrices: [], askSizes: [] },
        { bidPrices: [0.5], bidSizes: [999_999_999_999_999], askPrices: [1], askSizes: [0.123456789012] },
      ],
    ],
    ['prices 0 and 1, crossed', [{ bidPrices: [1, 0], bidSizes: [1, 2], askPrices: [0, 1], askSizes: [3, 4] }]],
    ['sizes that change by a few amounts, up and down, whole and fractional', steppedBooks()],
    [
      'one side that changes only at its end, after levels that do not change',
      Array.from({ length: 30 }, (_, n) => ({
        bidPrices: [],
        bidSizes: [],
        askPrices: Array.from({ length: 140 + (n % 3) }, (_, i) => i / 1000),
        askSizes: Array.from({ length: 140 + (n % 3) }, (_, i) => (i < 139 - n ? 5 : 6 + n)),
      })),
    ],
    [
      'only empty sides',
      Array.from({ length: 3 }, () => ({ bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] })),
    ],
    [
      'sides of two thousand levels that all change',
      Array.from({ length: 5 }, (_, n) => {
        const prices = Array.from({ length: 2000 }, (_, i) => (2 * i + (n % 2)) / 10_000);
        const sizes = prices.map((_, i) => (i + n + 1) / 1000);
        return { bidPrices: prices.toReversed(), bidSizes: sizes, askPrices: prices, askSizes: sizes };
      }),
    ],
  ])('are exact: %s', async (_, books) => {
    using place = temporaryArchive();
    // Equal books of one outcome and timestamp would be stored once.
    await importRecords(place.archive, [sampleMarket(), ...recordsOf(books, 'up', 1)]);
    const found = await read(await segmentsOf(place.archive));
    expect(found.map(({ bids, asks }) => ({ bids, asks }))).toEqual(
      books.map((book) => ({
        bids: levels(book.bidPrices, book.bidSizes),
        asks: levels(book.askPrices, book.askSizes),
      })),
    );
    expectSame(found, await allPagesOf(place.archive));
  });

  test('keep ids up to the largest, in any order', async () => {
    using place = temporaryArchive();
    const ids = [2 ** 53 - 1, 1, 2 ** 53 - 2, 2 ** 31, 7];
    const records = ids.map((id, i) => sampleSnapshot({ id: String(id), timestamp: START_MS + i }));
    await importRecords(place.archive, [sampleMarket(), ...records]);
    expect((await read(await segmentsOf(place.archive))).map(({ id }) => Number(id))).toEqual(ids);
  });

  test.skipIf(REAL_BOOKS === undefined)('are exact for real recordings (where there are any)', async () => {
    using place = temporaryArchive();
    const files = readdirSync(REAL_BOOKS!).filter((name) => name.endsWith('.parquet'));
    await importPaths(place.archive, ...files.slice(0, 12).map((name) => join(REAL_BOOKS!, name)));
    const expected = await allPagesOf(place.archive);
    expect(expected.length).toBeGreaterThan(800);
    const bytes = await segmentsOf(place.archive);
    expectSame(await read(streamOf(bytes, [65_536])), expected);
    expect(bytes.length / expected.length).toBeLessThan(35);
  });
});

/** A recording of two short series. */
async function shortRecording(): Promise<{ bytes: Uint8Array<ArrayBuffer>; snapshots: Snapshot[] }> {
  using place = temporaryArchive();
  const books = randomBooks(3, 12, { priceScale: 2, sizes: 'cents', levelsMax: 6, changesMax: 2 });
  const records = [...recordsOf(books.slice(0, 6), 'up', 10), ...recordsOf(books.slice(6), 'down', 10)];
  await importRecords(place.archive, [sampleMarket(), ...records]);
  return { bytes: await segmentsOf(place.archive), snapshots: await allPagesOf(place.archive) };
}

describe('a recording', () => {
  test('is read in chunks of any length', async () => {
    const { bytes, snapshots } = await shortRecording();
    expectSame(await read(streamOf(bytes, [1])), snapshots);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 8 }), async (lengths) => {
        expectSame(await read(streamOf(bytes, lengths)), snapshots);
      }),
      RUNS,
    );
  });

  test('is released when its reader stops', async () => {
    const { bytes } = await shortRecording();
    let isCancelled = false;
    const stream = streamOf(bytes, [50], () => {
      isCancelled = true;
      return undefined;
    });
    for await (const _ of readSnapshots(stream)) break;
    expect(isCancelled).toBe(true);
  });

  test('gives snapshots that do not change while others are read', async () => {
    const { bytes, snapshots } = await shortRecording();
    const found: Snapshot[] = [];
    const texts: string[] = [];
    for await (const snapshot of readSnapshots(bytes)) {
      found.push(snapshot);
      texts.push(JSON.stringify(snapshot));
    }
    expect(found.map((snapshot) => JSON.stringify(snapshot))).toEqual(texts);
    expectSame(found, snapshots);
  });

  test('that is cut off anywhere is refused as cut off', async () => {
    const { bytes, snapshots } = await shortRecording();
    for (let length = 0; length < bytes.length; length += 1) {
      const cut = bytes.slice(0, length);
      const found: Snapshot[] = [];
      const reading = (async () => {
        for await (const snapshot of readSnapshots(cut)) found.push(snapshot);
      })();
      await expect(reading, String(length)).rejects.toThrow('this recording is cut off');
      await reading.catch(() => undefined);
      expectSame(found, snapshots.slice(0, found.length));
    }
  });

  test('Each digest in the format of segments covers everything before it: any flipped byte is refused.', async () => {
    const { bytes } = await shortRecording();
    for (let at = 0; at < bytes.length; at += 1) {
      const flipped = bytes.slice();
      flipped[at] = flipped[at]! ^ (1 << (at % 8));
      const reason = at < FIRST_LINE.length ? /not a recording in the segments format/ : /damaged|cut off/;
      await expect(read(flipped), String(at)).rejects.toThrow(reason);
    }
  });

  test.each<[string, (frames: readonly Uint8Array[]) => Uint8Array[]]>([
    ['twice', (frames) => [...frames.slice(0, 3), frames[2]!, ...frames.slice(3)]],
    ['left out', (frames) => frames.toSpliced(2, 1)],
    ['in another place', (frames) => [frames[0]!, frames[3]!, frames[4]!, frames[1]!, frames[2]!, ...frames.slice(5)]],
  ])('with a frame %s is refused', async (_, change) => {
    const { bytes, snapshots } = await shortRecording();
    const frames = framesOf(bytes);
    expectSame(await read(sealed(frames)), snapshots);
    // Each frame keeps its digest, which is wrong after other frames than before.
    const whole = frames.map((framed) => {
      const start = framed.byteOffset - bytes.byteOffset;
      return bytes.subarray(start, start + framed.length + DIGEST_BYTES);
    });
    await expect(read(new Uint8Array(Buffer.concat([FIRST_LINE, ...change(whole)])))).rejects.toThrow('damaged');
  });

  test('with a frame that is too long is refused before the frame is complete', async () => {
    const { bytes } = await shortRecording();
    new DataView(bytes.buffer).setUint32(FIRST_LINE.length + 1, 0xffff_ffff, true);
    await expect(read(bytes)).rejects.toThrow('damaged');
  });

  test('with a missing segment is refused by its count, even if its digests are correct', async () => {
    const frames = framesOf((await shortRecording()).bytes);
    expect(typesOf(frames)).toBe('MSRSRE');
    await expect(read(sealed(frames.toSpliced(2, 1)))).rejects.toThrow('6 of 12 snapshots were read');
  });

  test.each<[string, (payload: Buffer) => Buffer, string]>([
    ['is of version 1', (payload) => Buffer.concat([Buffer.of(1), payload.subarray(1)]), 'of an unknown version'],
    ['is of version 4', (payload) => Buffer.concat([Buffer.of(4), payload.subarray(1)]), 'of an unknown version'],
    ['ends too soon', (payload) => payload.subarray(0, -1), ''],
    [
      'edits a level that does not exist',
      (payload) => Buffer.concat([payload.subarray(0, -1), Buffer.of(0xe1)]),
      'damaged',
    ],
    [
      'inserts a level after one that does not exist',
      (payload) => Buffer.concat([payload.subarray(0, -1), Buffer.of(0xe6, 2)]),
      'damaged',
    ],
    ['has an unknown operation', (payload) => Buffer.concat([payload.subarray(0, -1), Buffer.of(0xec)]), 'damaged'],
  ])('whose segment %s is refused, even if its digests are correct', async (_, change, reason) => {
    using place = temporaryArchive();
    // The last byte of the payload removes the only level.
    const books = [
      { bidPrices: [], bidSizes: [], askPrices: [0.5], askSizes: [1] },
      { bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] },
    ];
    await importRecords(place.archive, [sampleMarket(), ...recordsOf(books, 'up', 1)]);
    const frames = framesOf(await segmentsOf(place.archive));
    expect(typesOf(frames)).toBe('MSRE');
    const body = bodyOf(frames[2]!);
    expect(body.at(-1)).toBe(0xe0);
    const [range, payload] = [body.subarray(0, 3), body.subarray(3)];
    const withSegment = (changed: Buffer) => sealed(frames.with(2, frame('R', Buffer.concat([range, changed]))));
    expect(await read(withSegment(payload))).toHaveLength(2);
    await expect(read(withSegment(change(payload)))).rejects.toThrow(reason);
  });

  test('with frames of unknown types is read without them', async () => {
    const { bytes, snapshots } = await shortRecording();
    const frames = framesOf(bytes);
    expectSame(await read(sealed(frames.toSpliced(3, 0, frame('Z', { any: 'thing' })))), snapshots);
  });

  test('with data after its end is refused', async () => {
    const { bytes } = await shortRecording();
    for (const more of [Buffer.from('\n'), bytes]) {
      await expect(read(new Uint8Array(Buffer.concat([bytes, more])))).rejects.toThrow('has data after its end');
      await expect(read(streamOf(Buffer.concat([bytes, more]), [bytes.length]))).rejects.toThrow(
        'has data after its end',
      );
    }
  });

  test.each([
    ['{"type":"about:blank","title":"Unauthorized","status":401}'],
    ['{"type":"market","conditionId":"0x51","slug":"btc-updown-5m-1776323400"}\n'],
    ['bookreel segments 2\nM\u0000\u0000\u0000\u0000'],
  ])('in another format is refused: %j', async (text) => {
    await expect(read(new Uint8Array(Buffer.from(text)))).rejects.toThrow(
      'this is not a recording in the segments format, version 1',
    );
  });
});

describe('the file', () => {
  const text = readFileSync(SOURCE, 'utf8');

  test('can be copied: it imports nothing, needs nothing of Bun or Node, and has fewer than 150 lines', () => {
    expect(text.split('\n').length).toBeLessThanOrEqual(150);
    expect(text).not.toMatch(/^\s*import\b|\bimport\(|\brequire\b|\bBun\b\.|\bBuffer\b|\bprocess\b/m);
  });

  test('reads the snapshots of segments with arrivals', async () => {
    using place = temporaryArchive();
    const books = randomBooks(3, 300, { priceScale: 2, sizes: 'cents', levelsMax: 9, changesMax: 3 });
    const records = recordsOf(books, 'up', 250).map((record, i) =>
      i % 5 === 0 ? record : { ...record, receivedAt: START_MS + 250 * i + ((i * 7919) % 300) },
    );
    await importRecords(place.archive, [sampleMarket(), ...records]);
    expectSame(await read(await segmentsOf(place.archive)), await allPagesOf(place.archive));
  });

  test.skipIf(Bun.which('node') === null)('reads the same in Node (where there is one)', async () => {
    using directory = temporaryDirectory();
    const { bytes, snapshots } = await shortRecording();
    const place = (name: string) => join(directory.path, name);
    writeFileSync(place('reader.mjs'), new Bun.Transpiler({ loader: 'ts' }).transformSync(text));
    writeFileSync(place('recording.segments'), bytes);
    writeFileSync(
      place('main.mjs'),
      `import { createReadStream } from 'node:fs';
       import { readSnapshots } from './reader.mjs';
       const path = ${JSON.stringify(place('recording.segments'))};
       for await (const snapshot of readSnapshots(createReadStream(path, { highWaterMark: 100 }))) {
         console.log(JSON.stringify(snapshot));
       }`,
    );
    const { stdout, stderr } = Bun.spawnSync(['node', place('main.mjs')]);
    expect(stderr.toString()).toBe('');
    expect(stdout.toString()).toBe(snapshots.map((snapshot) => `${JSON.stringify(snapshot)}\n`).join(''));
  });
});

describe('the description of the format', () => {
  const description = readFileSync(join(SOURCE, '..', '..', 'manual', 'segments.md'), 'utf8');
  const block = (language: string) => description.split(`\`\`\`${language}\n`)[1]!.split('```')[0]!;

  test('has an example that is an export, byte for byte', async () => {
    using place = temporaryArchive();
    const lines = block('ndjson').trim().split('\n');
    await importRecords(
      place.archive,
      lines.map((line) => JSON.parse(line) as object),
    );
    const frames = framesOf(await segmentsOf(place.archive));
    expect(typesOf(frames)).toBe('MSRE');
    const bodies = frames.map(bodyOf);
    expect(bodies[0]!.toString()).toBe(lines[0]!);
    for (const body of [bodies[1]!, bodies[3]!]) expect(description).toContain(`\`${body.toString()}\``);
    const hex = block('hex')
      .replace(/ {2,}.*$/gm, '')
      .replaceAll(/\s/g, '');
    expect(bodies[2]!.toString('hex')).toBe(hex);
    expect((await read(await segmentsOf(place.archive))).map(({ id, bids, asks }) => ({ id, bids, asks }))).toEqual(
      lines.slice(1).map((line) => {
        const { id, bids, asks } = JSON.parse(line) as Snapshot;
        return { id, bids, asks };
      }),
    );
  });
});
