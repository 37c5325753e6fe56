import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { PacedReader, tardisChunks } from '../../src/http/replay/paced-reader.ts';
import { TardisSender } from '../../src/http/replay/tardis-sender.ts';
import { FairQueue } from '../../src/replay/fair-queue.ts';
import { NativeStream } from '../../src/replay/tardis/native-stream.ts';
import { normalizedStream } from '../../src/replay/tardis/normalized-stream.ts';
import { normalizedOptionsOf } from '../../src/replay/tardis/options.ts';
import type { StreamItem, TardisStream } from '../../src/replay/tardis/stream.ts';
import { TickSizes } from '../../src/replay/tick-sizes.ts';
import type { Archive } from '../../src/store/archive.ts';
import { PriceTexts } from '../../src/venue/price-texts.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleMarket, sampleSnapshot, UP_ASSET } from '../support/sample-records.ts';
import { RecordingConnection } from './recording-connection.ts';

const MARKETS = 60;
const WINDOW = { fromMs: START_MS + 60_000, toMs: START_MS + 86_400_000 };
const sourceOf = (archive: Archive) => ({
  archive,
  ticks: new TickSizes(archive),
  prices: new PriceTexts(),
  mirror: 'fresh' as const,
});
const assetOf = (nth: number) => String(1000 + 2 * nth);

/** Markets that all have a book by the beginning of WINDOW. */
const manyMarkets = Array.from({ length: MARKETS }, (_, nth) => {
  const conditionId = `0x${String(nth).padStart(64, '0')}`;
  return [
    sampleMarket({ conditionId, slug: `btc-updown-5m-${nth}`, clobTokenIds: [assetOf(nth), `${assetOf(nth)}1`] }),
    sampleSnapshot({ conditionId, timestamp: START_MS + 1000 }),
  ];
}).flat();

/** All that a stream gives. */
function itemsOf(archive: Archive, stream: TardisStream): StreamItem[] {
  const items: StreamItem[] = [];
  for (;;) {
    const item = archive.database.read(() => stream.next());
    if (item === undefined) return items;
    items.push(item);
  }
}

test('only a few markets are examined before others get a turn, however many are named', async () => {
  using place = temporaryArchive();
  const { archive } = place;
  await importRecords(archive, manyMarkets);
  const assetIds = Array.from({ length: MARKETS }, (_, nth) => assetOf(nth));
  const filters = [{ channel: 'book' as const, assetIds }];
  const ways = [
    () => new NativeStream(sourceOf(archive), WINDOW, filters),
    () => {
      const stream = new NativeStream(sourceOf(archive), WINDOW, [{ channel: 'book', assetIds: ['99'] }]);
      stream.subscribe(filters);
      return stream;
    },
  ];
  for (const open of ways) {
    const items = itemsOf(archive, archive.database.read(open));
    const books = items.filter(({ kind }) => kind === 'text').map(({ text }) => /"asset_id":"(\d+)"/.exec(text)![1]);
    expect(books).toEqual(assetIds);
  }
  // Reading the last market fails from here on.
  const { key } = archive.markets.findByAsset(assetIds.at(-1)!)!;
  using writer = new Database(archive.database.path);
  writer.run(`UPDATE segments SET digest = zeroblob(32) WHERE series_id IN
    (SELECT series_id FROM series WHERE market_key = ${key})`);
  for (const open of ways) {
    const stream = archive.database.read(open);
    expect(archive.database.read(() => stream.next())?.kind).toBe('rest');
    expect(() => itemsOf(archive, stream)).toThrow('damaged');
  }
});

test('a subscription that ends before its market was examined sends nothing', async () => {
  using place = temporaryArchive();
  const { archive } = place;
  await importRecords(archive, manyMarkets);
  const assetIds = Array.from({ length: MARKETS }, (_, nth) => assetOf(nth));
  const stream = archive.database.read(() => {
    const made = new NativeStream(sourceOf(archive), WINDOW, [{ channel: 'book', assetIds }]);
    made.unsubscribe(assetIds.slice(1));
    return made;
  });
  const books = itemsOf(archive, stream).filter(({ kind }) => kind === 'text');
  expect(books.map(({ text }) => /"asset_id":"(\d+)"/.exec(text)![1])).toEqual([assetOf(0)]);
});

test('an event with many changes gives others a turn between changes that send nothing', async () => {
  using place = temporaryArchive();
  const { archive } = place;
  const levels = Array.from({ length: 40 }, (_, nth) => ({ price: (nth + 1) / 100, size: 5 }));
  const changed = levels.map(({ price }) => ({ price, size: 6 }));
  await importRecords(archive, [
    sampleMarket(),
    sampleSnapshot({ timestamp: START_MS + 1000, bids: levels, asks: [] }),
    sampleSnapshot({ timestamp: START_MS + 2000, bids: changed, asks: [] }),
  ]);
  const options = normalizedOptionsOf(
    JSON.stringify({
      exchange: 'polymarket',
      from: '2026-04-16',
      to: '2026-04-17',
      symbols: [UP_ASSET],
      dataTypes: ['book_snapshot_5_1m'],
    }),
  );
  const stream = archive.database.read(() => normalizedStream(sourceOf(archive), options));
  const items = itemsOf(archive, stream);
  expect(items.filter(({ kind }) => kind === 'text')).toHaveLength(1);
  expect(items.filter(({ kind }) => kind === 'rest').length).toBeGreaterThanOrEqual(levels.length);
});

/** A stream of rests. Counts the calls of `check`, one for each turn of a reader. */
class Resting implements TardisStream {
  reads = 0;
  #left: number;

  constructor(count: number) {
    this.#left = count;
  }

  check(): void {
    this.reads += 1;
  }

  next(): StreamItem | undefined {
    this.#left -= 1;
    return this.#left < 0 ? undefined : { kind: 'rest', text: '', localMs: START_MS };
  }
}

test('a task ends with the first piece of work that takes too long', async () => {
  using place = temporaryArchive();
  const { database } = place.archive;
  // Between two looks at the clock more than a turn passes.
  let ms = 0;
  const monotonicMs = () => {
    ms += 10;
    return ms;
  };
  const pace = { fromMs: START_MS, speed: 0, monotonicMs };
  const queue = new FairQueue();
  const overHttp = new Resting(20);
  const reader = new PacedReader(overHttp, pace);
  const rest = { database, queue, reader, lineOf: () => '', isDraining: () => false };
  for await (const _ of tardisChunks({ ...rest, signal: new AbortController().signal }));
  expect(overHttp.reads).toBe(21);
  const overSocket = new Resting(20);
  const over = Promise.withResolvers<unknown>();
  const connections = new Map([[overSocket, new RecordingConnection()]]);
  new TardisSender({ database, queue, pace, ended: over.resolve }, connections).start();
  expect(await over.promise).toBeUndefined();
  expect(overSocket.reads).toBe(21);
});
