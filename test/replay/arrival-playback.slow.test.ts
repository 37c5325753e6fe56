import { describe, expect, test } from 'bun:test';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import { VenueQuotes } from '../../src/replay/clob/venue-quotes.ts';
import { MarketPlayback, type PlaybackEvent } from '../../src/replay/market-playback.ts';
import { bookAt } from '../../src/replay/market-state.ts';
import { recordedTrades } from '../../src/replay/recorded-trades.ts';
import { Replay } from '../../src/replay/replay.ts';
import { TickSizes } from '../../src/replay/tick-sizes.ts';
import type { Archive } from '../../src/store/archive.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { marketOf } from '../support/imported.ts';
import { randomsOf } from '../support/random-books.ts';
import {
  DOWN_ASSET,
  START_MS,
  sampleMarket,
  samplePrice,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';

const SLUG = sampleMarket().slug as string;
const MINUTE_MS = 60_000;

interface Sent {
  readonly outcome: 'up' | 'down';
  readonly timestampMs: number;
  readonly receivedMs: number | undefined;
  /** The size of the best bid, which is different in each book; undefined for a trade. */
  readonly size: number | undefined;
}

/** Books and trades at different times, most of which arrive out of order, one very late and one early. */
const RECORDS: readonly Sent[] = (() => {
  const random = randomsOf(11);
  return Array.from({ length: 300 }, (_, i) => {
    const timestampMs = START_MS + 50 * i;
    const delayMs = i === 250 ? 10 * MINUTE_MS : i === 100 ? -700 : Math.floor(random() * 180);
    return {
      outcome: random() < 0.5 ? ('up' as const) : ('down' as const),
      timestampMs,
      receivedMs: random() < 0.15 && i !== 100 && i !== 250 ? undefined : timestampMs + delayMs,
      size: i % 5 === 4 ? undefined : i + 1,
    };
  });
})();

function lineOf({ outcome, timestampMs, receivedMs, size }: Sent): object {
  const times = { outcome, timestamp: timestampMs, ...(receivedMs === undefined ? {} : { receivedAt: receivedMs }) };
  return size === undefined
    ? samplePrice({ ...times, price: (timestampMs % 900) / 1000 })
    : sampleSnapshot({ ...times, bids: [{ price: 0.1, size }], asks: [] });
}

/** When each record is due: once it and all before it had arrived, at most a minute late. */
const DUE_MS = RECORDS.map(({ timestampMs, receivedMs }) =>
  Math.min(receivedMs ?? timestampMs, timestampMs + MINUTE_MS),
).map((_, i, all) => Math.max(...all.slice(0, i + 1)));

async function withPlaybacks(
  work: (playbackAt: (atMs: number, isByArrival?: boolean) => MarketPlayback, archive: Archive) => void,
): Promise<void> {
  using place = temporaryArchive();
  const { archive } = place;
  await importRecords(archive, [sampleMarket(), ...RECORDS.map(lineOf)]);
  const market = marketOf(archive, SLUG);
  const ticks = new TickSizes(archive);
  archive.database.read(() =>
    work(
      (atMs, isByArrival = true) => new MarketPlayback(archive, ticks, market, atMs, 'recorded', isByArrival),
      archive,
    ),
  );
}

/** The events from here on, each with the time at which it is due. */
function eventsOf(playback: MarketPlayback): [number, PlaybackEvent][] {
  const events: [number, PlaybackEvent][] = [];
  for (let dueMs = playback.nextMs; dueMs !== undefined; dueMs = playback.nextMs) events.push([dueMs, playback.next()]);
  return events;
}

describe('A playback by arrival', () => {
  test('sends each record once it and all before it had arrived, with the time of the venue', async () => {
    await withPlaybacks((playbackAt) => {
      const events = eventsOf(playbackAt(START_MS - MINUTE_MS));
      expect(events.map(([dueMs, { timestampMs }]) => [dueMs, timestampMs])).toEqual(
        RECORDS.map(({ timestampMs }, i) => [DUE_MS[i]!, timestampMs]),
      );
      const plain = eventsOf(playbackAt(START_MS - MINUTE_MS, false));
      expect(plain.map(([dueMs]) => dueMs)).toEqual(RECORDS.map(({ timestampMs }) => timestampMs));
      expect(events.map(([, { timestampMs, kind }]) => [timestampMs, kind])).toEqual(
        plain.map(([, { timestampMs, kind }]) => [timestampMs, kind]),
      );
    });
  });

  test('begins anywhere with what was due by then', async () => {
    await withPlaybacks((playbackAt) => {
      for (let ms = -100; ms < 14_000; ms += 333) {
        const playback = playbackAt(START_MS + ms);
        const due = RECORDS.filter((_, i) => DUE_MS[i]! <= START_MS + ms);
        for (const outcome of OUTCOMES) {
          const last = due.findLast((record) => record.outcome === outcome && record.size !== undefined);
          // Before its first own book an outcome has the other's, mirrored.
          if (last === undefined) continue;
          expect(playback.state(outcome).known?.book.bidSizes).toEqual([last.size!]);
        }
        expect(eventsOf(playback)).toHaveLength(RECORDS.length - due.length);
      }
    });
  });

  test('agrees with the books of REST: none that had not arrived', async () => {
    await withPlaybacks((_, archive) => {
      const market = marketOf(archive, SLUG);
      for (let ms = 400; ms < 14_000; ms += 217) {
        const atMs = START_MS + ms;
        const arrived = RECORDS.filter(
          ({ timestampMs, receivedMs, size }) => size !== undefined && (receivedMs ?? timestampMs) <= atMs,
        );
        for (const outcome of OUTCOMES) {
          const last = arrived.findLast((record) => record.outcome === outcome);
          const found = bookAt(archive, market, outcome, atMs, 'recorded', true);
          if (last !== undefined) expect(found?.book.bidSizes).toEqual([last.size!]);
        }
      }
    });
  });

  test('agrees with the trades of REST: none that had not arrived', async () => {
    using place = temporaryArchive();
    const { archive } = place;
    await importRecords(archive, [sampleMarket(), ...RECORDS.map(lineOf)]);
    const market = marketOf(archive, SLUG);
    const replay = new Replay(archive, { ...EVERYTHING, arrival: true }, { monotonicMs: () => 0, wallMs: () => 0 });
    archive.database.read(() => {
      for (let ms = 400; ms < 14_000; ms += 217) {
        const atMs = START_MS + ms;
        const arrived = RECORDS.filter(
          ({ timestampMs, receivedMs, size }) => size === undefined && (receivedMs ?? timestampMs) <= atMs,
        );
        const listed = [...recordedTrades(replay, [market], 0, atMs, atMs)].flatMap((trade) => trade ?? []);
        const isListed = ({ timestampMs }: Sent) => timestampMs <= atMs;
        expect(listed.map(({ timestampMs }) => timestampMs)).toEqual(
          arrived
            .filter(isListed)
            .map(({ timestampMs }) => timestampMs)
            .toReversed(),
        );
        const last = arrived.at(-1);
        const price = last && ((last.timestampMs % 900) / 1000).toString();
        const quoted = new VenueQuotes(replay, atMs).lastTrade(last?.outcome === 'down' ? DOWN_ASSET : UP_ASSET);
        expect(quoted?.price).toEqual(price);
      }
    });
  });
});
