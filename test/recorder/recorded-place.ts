import { expect } from 'bun:test';
import { join } from 'node:path';
import { importLines } from '../../src/cli/record-store.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { JournalFollower } from '../../src/recorder/journal-follower.ts';
import type { StoreJournal } from '../../src/recorder/recorder.ts';
import type { Archive } from '../../src/store/archive.ts';
import { exported } from '../export/exported.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { difference } from './difference.ts';
import type { LinkFaults } from './link-faults.ts';
import { gapsOf, linesOf, RecordedRun, type RunClock } from './recorded-run.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import type { SimulatedMarket } from './simulated-market.ts';
import { VenueProxy } from './venue-proxy.ts';
import type { SocketEvents, Venue } from './venue-socket.ts';
import { VenueStandIn } from './venue-stand-in.ts';

/** The start of the market's window. */
export const START_MS = Date.UTC(2026, 5, 1);
export const SLUG = `btc-updown-5m-${START_MS / 1000}`;
/** The recorder stores this often. */
const STORE_MS = 4000;

export const timeIn = (text: string) => Number(text.slice(0, text.indexOf(' ')));
export const messageTime = (text: string) => Number(/"timestamp":"(\d+)"/.exec(text)?.[1]);
export const isChangeOf = (text: string, { listing }: SimulatedMarket) =>
  text.includes('"price_change"') && text.includes(listing.conditionId);

/** A venue whose frames are changed on their way. */
class ChangedVenue implements Venue {
  readonly #venue: Venue;
  readonly sockets: SocketEvents[] = [];
  /** Changes a frame of a socket, by its number from 1. */
  change: (text: string, socket: number) => string = (text) => text;

  constructor(venue: Venue) {
    this.#venue = venue;
  }

  connect(events: SocketEvents) {
    const socket = this.sockets.push(events);
    return this.#venue.connect({ ...events, onText: (text) => events.onText(this.change(text, socket)) });
  }

  answer(path: string, body?: string) {
    return this.#venue.answer(path, body);
  }
}

interface PlaceOptions {
  readonly eventsPerSecond: number;
  /** They are those of each connection. */
  readonly faults?: Partial<LinkFaults>;
  readonly sockets?: number;
  /** It decides what the connections do at random. */
  readonly seed?: string;
  /** True if each change of the market undoes the one before. */
  readonly undoes?: boolean;
  /** The clock of the recorder is ahead of that of the venue by this time. */
  readonly aheadMs?: number;
}

/** A recorder that stores in an archive, as it does while a market is open, the market, and its venue with these faults. */
export function recordedPlace({
  eventsPerSecond,
  faults = {},
  sockets = 2,
  seed = 'recorded place',
  undoes,
  aheadMs = 0,
}: PlaceOptions) {
  const pace = { eventsPerSecond, beforeStartMs: 50_000, keepsLines: true, undoes };
  const clock = new SimulatedClock(START_MS - 130_000);
  let market: SimulatedMarket | undefined;
  const directory = new SimulatedDirectory(['btc'], pace, (opened) => {
    if (opened.listing.slug === SLUG) market = opened;
  });
  const proxy = new VenueProxy({ venue: new VenueStandIn(clock, directory), clock, seed, faultsOf: () => faults });
  const venue = new ChangedVenue(proxy);
  const own: RunClock = {
    nowUs: () => clock.nowUs() + aheadMs * 1000,
    after: (ms, work) => clock.after(ms, work),
    run: (untilMs, settled) => clock.run(untilMs - aheadMs, settled),
  };
  const place = temporaryArchive();
  const journal = temporaryDirectory();
  const follower = new JournalFollower(
    journal.path,
    importLines(place.archive, () => clock.nowUs() / 1000),
  );
  const store: StoreJournal = (until, isLast) => follower.store(until, isLast);
  const run = new RecordedRun(venue, own, { store, sockets }, journal);
  return {
    ...{ clock, proxy, venue, run, archive: place.archive },
    get market() {
      return market!;
    },
    async record(untilMs: number) {
      for (let atMs = clock.nowUs() / 1000; atMs < untilMs; ) {
        atMs = Math.min(untilMs, atMs + STORE_MS);
        await run.run(atMs + aheadMs);
      }
    },
    [Symbol.dispose]: () => {
      run[Symbol.dispose]();
      place[Symbol.dispose]();
    },
  };
}

export const gapsIn = (archive: Archive, outcome: Outcome) =>
  gapsOf(archive, SLUG).filter(({ reason }) => reason.includes(`of ${outcome}`));

/** The lines of books that lie in no gap of their outcome. */
export function linesOutside(archive: Archive, outcome: Outcome, lines = linesOf(archive, SLUG, outcome)) {
  const gaps = gapsIn(archive, outcome);
  return lines.filter((line) => !gaps.some(({ fromMs, toMs }) => timeIn(line) >= fromMs && timeIn(line) <= toMs));
}

/**
 * The records of an export, sorted, without their ids, the times of import, and arrivals: that of a book which one part dropped and a later
 * one proved is not known.
 */
async function exportedRecords(archive: Archive): Promise<string[]> {
  const { bytes } = await exported(archive, 'ndjson');
  const lines = bytes.toString().trimEnd().split('\n');
  return lines.map((line) => line.replace(/,"(id|createdAt|updatedAt|receivedAt)":("[^"]*"|\d+)/g, '')).sort();
}

/** The archive, which was stored step by step, has the records that an import of the whole journal gives, apart from arrivals. */
export async function expectJournalStored({ archive, run }: ReturnType<typeof recordedPlace>): Promise<void> {
  using elsewhere = temporaryArchive();
  await importPaths(elsewhere.archive, join(run.directory.path, 'journal'));
  const [stored, expected] = [await exportedRecords(archive), await exportedRecords(elsewhere.archive)];
  expect(difference(stored, expected)).toEqual({ extra: [], missing: [] });
  expect(stored).toHaveLength(expected.length);
}
