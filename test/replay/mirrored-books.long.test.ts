import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MirrorMode } from '../../src/replay/market-state.ts';
import type { Replay } from '../../src/replay/replay.ts';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { marketOf } from '../support/imported.ts';
import { randomsOf } from '../support/random-books.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { DocumentedClient, levelsOf } from './documented-client.ts';
import { booksInParquet, recordedPrices, type VenueBook } from './recorded-hashes.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';
import { tardisServer } from './tardis-server.ts';
import { venueServer } from './venue-server.ts';

/** A market of which both outcomes were recorded, seldom at the same time. */
const SLUG = 'btc-updown-5m-1776325800';
/** An instant at which down's last book is old. */
const STALE_MS = Date.UTC(2026, 3, 16, 7, 52, 27, 986);
const INSTANTS = 80;

interface Level {
  readonly price: string;
  readonly size: string;
}

interface RawBook extends VenueBook {
  readonly timestampMs: number;
}

type Sides = Pick<RawBook, 'timestampMs' | 'bids' | 'asks'>;

/** The messages of the market as they were received. */
async function rawBooks(): Promise<RawBook[]> {
  const books = await booksInParquet(REAL_BOOKS!, SLUG);
  return books.map((book) => ({ ...book, timestampMs: Number(book.timestamp) }));
}

/** 1 - price, in digits. */
function complementOf(price: string): string {
  const scaled = 10_000 - Math.round(Number(price) * 10_000);
  return String(scaled / 10_000);
}

function mirrorOf({ timestampMs, bids, asks }: RawBook): Sides {
  const other = (levels: readonly Level[]) => levels.map(({ price, size }) => ({ price: complementOf(price), size }));
  return { timestampMs, bids: other(asks), asks: other(bids) };
}

function sidesOf({ bids, asks }: Pick<RawBook, 'bids' | 'asks'>): string {
  const side = (levels: readonly Level[]) =>
    new Map(levels.map(({ price, size }) => [String(Number(price)), String(Number(size))]));
  return levelsOf({ bids: side(bids), asks: side(asks) });
}

/** The books that an asset may have at an instant: several if the newest ones have one time. */
function candidates(raw: readonly RawBook[], assetId: string, nowMs: number, mode: MirrorMode): Sides[] {
  const until = raw.filter(({ timestampMs }) => timestampMs <= nowMs);
  const own = newest(until.filter(({ asset_id }) => asset_id === assetId));
  const other = newest(until.filter(({ asset_id }) => asset_id !== assetId));
  const [ownMs, otherMs] = [own, other].map((books) => books[0]?.timestampMs ?? -1) as [number, number];
  if (own.length > 0 && (mode === 'recorded' || ownMs >= otherMs)) return own;
  return other.map(mirrorOf);
}

function newest(books: readonly RawBook[]): RawBook[] {
  let lastMs = -1;
  for (const { timestampMs } of books) lastMs = Math.max(lastMs, timestampMs);
  return books.filter(({ timestampMs }) => timestampMs === lastMs);
}

/** Instants of messages and the milliseconds around them. */
function instantsOf(raw: readonly RawBook[]): number[] {
  const random = randomsOf(41);
  return Array.from({ length: INSTANTS }, () => {
    const { timestampMs } = raw[Math.floor(random() * raw.length)]!;
    return timestampMs + Math.floor(random() * 3) - 1;
  });
}

async function loaded() {
  const place = temporaryArchive();
  const files = readdirSync(REAL_BOOKS!).filter((name) => name.startsWith(SLUG));
  await importPaths(
    place.archive,
    join(REAL_BOOKS!, 'markets.ndjson'),
    ...files.map((name) => join(REAL_BOOKS!, name)),
  );
  return place;
}

interface Message extends Partial<RawBook> {
  readonly event_type: string;
  readonly best_bid?: string;
  readonly best_ask?: string;
  readonly price_changes?: readonly Partial<Message>[];
}

function bestOf({ timestamp }: Message, { asset_id, best_bid, best_ask }: Partial<Message>): string {
  return [timestamp, asset_id, best_bid, best_ask].join(' ');
}

/** The frames of a client that follows a replay from its beginning to its end. */
async function framesOf(replay: Replay, assetIds: readonly string[], custom = false): Promise<string[]> {
  const connection = new RecordingConnection();
  const session = venueSession(replay, connection);
  session.received(JSON.stringify({ type: 'market', assets_ids: assetIds, custom_feature_enabled: custom }));
  replay.clock.resume();
  while (replay.clock.state !== 'ended') await new Promise((resolve) => setImmediate(resolve));
  session.closed();
  return connection.frames;
}

describe.skipIf(REAL_BOOKS === undefined)('a market whose outcomes were recorded at different times', () => {
  let place: Awaited<ReturnType<typeof loaded>>;
  let raw: readonly RawBook[];
  let clobTokenIds: readonly [string, string];

  beforeAll(async () => {
    place = await loaded();
    raw = await rawBooks();
    clobTokenIds = [...marketOf(place.archive, SLUG).clobTokenIds];
  });

  afterAll(() => place[Symbol.dispose]());

  for (const mode of ['fresh', 'recorded'] as const) {
    test(`has at any instant the books of the raw messages, over REST: ${mode}`, async () => {
      await using server = venueServer(place.archive, { mirror: mode });
      let mirrored = 0;
      let arbitrages = 0;
      for (const nowMs of [STALE_MS, ...instantsOf(raw)]) {
        server.replay.clock.seek(nowMs);
        let asks = 0;
        for (const assetId of clobTokenIds) {
          const expected = candidates(raw, assetId, nowMs, mode);
          const { status, text } = await server.ask(`/book?token_id=${assetId}`);
          expect(status).toBe(expected.length > 0 ? 200 : 404);
          if (expected.length === 0) continue;
          const book = JSON.parse(text) as RawBook;
          expect(book.timestamp).toBe(String(expected[0]!.timestampMs));
          expect(expected.map(sidesOf)).toContain(sidesOf(book));
          if (!raw.some(({ asset_id, timestamp }) => asset_id === assetId && timestamp === book.timestamp))
            mirrored += 1;
          asks += Number((await server.json(`/price?token_id=${assetId}&side=SELL`)).price);
        }
        if (asks > 0 && asks < 0.98) arbitrages += 1;
      }
      expect(mirrored).toBeGreaterThan(0);
      if (mode === 'fresh') expect(arbitrages).toBe(0);
      else expect(arbitrages).toBeGreaterThan(0);
    });
  }

  test('has no arbitrage at the instant at which the recorded books have one', async () => {
    const asksOf = async (mirror: MirrorMode) => {
      await using server = venueServer(place.archive, { mirror });
      server.replay.clock.seek(STALE_MS);
      return await Promise.all(
        clobTokenIds.map(async (assetId) => (await server.json(`/price?token_id=${assetId}&side=SELL`)).price),
      );
    };
    expect(await asksOf('recorded')).toEqual(['0.57', '0.33']);
    const [up, down] = await asksOf('fresh');
    expect(up).toBe('0.57');
    expect(Number(up) + Number(down)).toBeGreaterThanOrEqual(1);
  });

  test('Sockets, REST, Gamma and tardis-machine’s interface send the same books, and /v1 what was recorded.', async () => {
    await using server = venueServer(place.archive, { speed: 'max', fromMs: undefined, toMs: undefined });
    await using tardis = tardisServer(place.archive);
    const options = { exchange: 'polymarket', from: '2026-04-16T07:00:00Z', to: '2026-04-16T09:00:00Z' };
    const filters = ['book', 'price_change'].map((channel) => ({ channel, symbols: clobTokenIds }));
    const lines = await tardis.lines('/replay', { ...options, filters });
    const native = lines.flatMap((line) => (line === '' ? [] : [JSON.stringify(JSON.parse(line).message)]));
    const priceAt = recordedPrices(raw);
    for (const frames of [await framesOf(server.replay, clobTokenIds), native]) {
      const client = new DocumentedClient(clobTokenIds);
      client.recordedPriceAt = priceAt;
      let compared = 0;
      let lastMs = 0;
      const compare = () => {
        client.checkHashes();
        for (const assetId of clobTokenIds) {
          const held = client.books.get(assetId);
          const expected = candidates(raw, assetId, lastMs, 'fresh').map(sidesOf);
          if (held !== undefined) expect(expected).toContain(levelsOf(held));
          compared += 1;
        }
      };
      for (const [nth, frame] of frames.entries()) {
        const nextMs = Math.max(...[...frame.matchAll(/"timestamp":"(\d+)"/g)].map(([, ms]) => Number(ms)));
        // A scan of all messages for each instant would take minutes.
        if (nextMs > lastMs && nth % 60 === 0) compare();
        else if (nextMs > lastMs) client.checkHashes();
        lastMs = nextMs;
        client.receive(frame);
      }
      compare();
      expect(client.faults).toEqual([]);
      expect(compared).toBeGreaterThan(100);
      expect(client.hashesChecked.right).toBeGreaterThan(2000);
    }
  });

  test('A client with custom features gets best_bid_ask of each outcome exactly when its best prices change.', async () => {
    await using server = venueServer(place.archive, { speed: 'max', fromMs: undefined, toMs: undefined });
    const frames = await framesOf(server.replay, clobTokenIds, true);
    const sent: string[] = [];
    const changed: string[] = [];
    const last = new Map<string, string>();
    for (const message of frames.flatMap((frame) => JSON.parse(frame) as Message | Message[])) {
      if (message.event_type === 'best_bid_ask') sent.push(bestOf(message, message));
      // The books of the beginning.
      if (message.event_type === 'book') {
        last.set(
          message.asset_id!,
          JSON.stringify([message.bids!.at(-1)?.price ?? '0', message.asks!.at(-1)?.price ?? '1']),
        );
      }
      for (const entry of message.price_changes ?? []) {
        const best = JSON.stringify([entry.best_bid, entry.best_ask]);
        if (last.get(entry.asset_id!) !== best) changed.push(bestOf(message, entry));
        last.set(entry.asset_id!, best);
      }
    }
    expect(sent.length).toBeGreaterThan(500);
    expect(sent.sort()).toEqual(changed.sort());
  });
});
