import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Replay } from '../../src/replay/replay.ts';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { realRecording } from '../support/real-recordings.ts';
import { DocumentedClient, levelsOf } from './documented-client.ts';
import { booksInCapture, recordedPrices } from './recorded-hashes.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';

const CAPTURE = realRecording('ws-capture-5m');

interface RecordedBook {
  readonly event_type: string;
  readonly asset_id: string;
  readonly timestamp: string;
  readonly bids: readonly { price: string; size: string }[];
  readonly asks: readonly { price: string; size: string }[];
}

interface CapturedMarket {
  readonly upTokenId: string;
  readonly downTokenId: string;
}

const TRADE_FIELDS = [
  ...['market', 'asset_id', 'price', 'size', 'fee_rate_bps', 'side', 'timestamp', 'event_type', 'transaction_hash'],
];

function capturedOf(directory: string, kind: string): RecordedBook[] {
  const lines = readFileSync(join(directory, 'market-ws.jsonl'), 'utf8').trimEnd().split('\n');
  return lines
    .flatMap((line) => (JSON.parse(line) as { payload: RecordedBook | RecordedBook[] }).payload)
    .filter(({ event_type }) => event_type === kind);
}

test.skipIf(CAPTURE === undefined)(
  'Size, taker’s side, fee and transaction of a trade are stored and replayed: a client has the book of a capture at every full one.',
  async () => {
    const directory = CAPTURE!;
    using place = temporaryArchive();
    await importPaths(place.archive, directory);
    const clocks = { monotonicMs: () => performance.now(), wallMs: () => 0 };
    const selection = { names: [], coins: [], timeframes: [] };
    const options = {
      selection,
      fromMs: undefined,
      toMs: undefined,
      speed: 'max',
      gaps: 'disconnect',
      mirror: 'fresh',
      arrival: false,
      strict: false,
      loop: false,
      rebase: false,
    } as const;
    const replay = new Replay(place.archive, options, clocks);
    const { current, next } = JSON.parse(readFileSync(join(directory, 'markets.json'), 'utf8')) as Record<
      'current' | 'next',
      CapturedMarket
    >;
    const pairs = [current, next].map(({ upTokenId, downTokenId }) => [upTokenId, downTokenId] as const);
    const connection = new RecordingConnection();
    const session = venueSession(replay, connection, clocks.monotonicMs);
    // The creation of the markets is not recorded, so they are listed when their windows begin.
    const books = capturedOf(directory, 'book');
    const firstMs = Math.min(...books.map(({ timestamp }) => Number(timestamp)));
    replay.clock.seek(Math.max(replay.clock.span.fromMs, firstMs - 1000));
    session.received(JSON.stringify({ type: 'market', assets_ids: pairs.flat() }));
    replay.clock.resume();
    while (replay.clock.state !== 'ended' && connection.closings.length === 0)
      await new Promise((resolve) => setImmediate(resolve));
    session.closed();
    expect(connection.closings).toEqual([]);

    const client = new DocumentedClient(...pairs);
    client.recordedPriceAt = recordedPrices(booksInCapture(directory));
    const wanted = Map.groupBy(books, ({ timestamp }) => Number(timestamp));
    let compared = 0;
    let lastMs = 0;
    const compare = (beforeMs: number) => {
      client.checkHashes();
      for (const [ms, recorded] of wanted) {
        if (ms >= beforeMs) continue;
        wanted.delete(ms);
        for (const { asset_id, bids, asks } of recorded) {
          const levels = (side: RecordedBook['bids']) => new Map(side.map(({ price, size }) => [price, size]));
          expect(levelsOf(client.books.get(asset_id)!)).toBe(levelsOf({ bids: levels(bids), asks: levels(asks) }));
          compared += 1;
        }
      }
    };
    for (const frame of connection.frames) {
      // A book after a trade has the time of its last change.
      const isBook = frame.includes('"event_type":"book"');
      const times = [...frame.matchAll(/"timestamp":"(\d+)"/g)].map(([, ms]) => Number(ms));
      const nextMs = isBook ? Math.max(lastMs, ...times) : Math.max(...times);
      expect(nextMs).toBeGreaterThanOrEqual(lastMs);
      if (nextMs > lastMs) compare(nextMs);
      lastMs = nextMs;
      client.receive(frame);
    }
    compare(Infinity);
    expect(client.faults).toEqual([]);
    const asWritten = (sent: unknown) => JSON.stringify(sent, TRADE_FIELDS);
    const replayed = connection.frames.filter((frame) => frame.includes('"event_type":"last_trade_price"'));
    expect(replayed.map((frame) => asWritten(JSON.parse(frame))).sort()).toEqual(
      capturedOf(directory, 'last_trade_price').map(asWritten).sort(),
    );
    expect(compared).toBe(144);
    expect(client.hashesChecked.right).toBeGreaterThan(5000);
  },
);
