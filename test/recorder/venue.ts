import { parseArgs } from 'node:util';
import { Replay } from '../../src/replay/replay.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { listen } from './proxy-listener.ts';
import { RecordedDirectory } from './recorded-directory.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import { nowMsOf, realClock, type VenueClock } from './venue-clock.ts';
import type { MarketDirectory } from './venue-market.ts';
import { VenueProxy } from './venue-proxy.ts';
import { VenueStandIn } from './venue-stand-in.ts';

/**
 * A venue on a port of this machine, for a recorder to record from, until it is stopped. Without recordings its markets are simulated:
 * 5m and 15m windows of seven coins, of all times.
 *
 *   bun test/recorder/venue.ts --port 7700 --faults
 *   bun test/recorder/venue.ts recording.jsonl markets.json
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string', default: '0' },
    /** Frames per second of each coin's 5m window; about 1.3 to each change of a book. */
    frames: { type: 'string', default: '10' },
    /** Kills and freezes sockets, doubles and reorders frames, and refuses requests, now and then. */
    faults: { type: 'boolean', default: false },
  },
});

const COINS = ['btc', 'eth', 'sol', 'xrp', 'doge', 'bnb', 'hype'];
const FRAMES_PER_EVENT = 1.3;
const WINDOW_MS = 300_000;
const FAULT_MS = 15_000;
const REFUSED_MS = 5000;

const clock = realClock();
const directory =
  positionals.length === 0
    ? new SimulatedDirectory(COINS, {
        ...{ eventsPerSecond: Number(values.frames) / FRAMES_PER_EVENT, beforeStartMs: 60_000, keepsLines: false },
      })
    : await replayed(positionals, clock);
const faults = { double: 0.02, reorderMsMax: 30, recuts: true };
const proxy = new VenueProxy({
  venue: new VenueStandIn(clock, directory),
  clock,
  seed: 'venue',
  ...(values.faults ? { faultsOf: () => faults } : {}),
});
const { url } = listen(proxy, Number(values.port));
console.log(`${url}\nbookreel record --url ${url} --gamma-url ${url} --coin btc,eth --tf 5m,15m --data recorded`);
if (values.faults) misbehave();

/** Recordings whose last window is moved to the present one; each next window is the next of the recording, round and round. */
async function replayed(paths: readonly string[], { nowUs }: VenueClock): Promise<MarketDirectory> {
  const { archive } = temporaryArchive();
  await importPaths(archive, ...paths);
  const replay = new Replay(archive, EVERYTHING, { monotonicMs: () => 0, wallMs: () => 0 });
  const span = replay.clock.span;
  const lengthMs = Math.ceil((span.toMs - span.fromMs) / WINDOW_MS + 1) * WINDOW_MS;
  const rounds = new Map<number, RecordedDirectory>();
  const roundAt = (nowMs: number) => {
    // Whole windows, so that slugs have the starts of their moved windows.
    const round = Math.floor((nowMs - span.fromMs) / lengthMs);
    const shiftMs = Math.round((round * lengthMs) / WINDOW_MS) * WINDOW_MS;
    const known = rounds.get(round) ?? new RecordedDirectory(replay, shiftMs);
    rounds.set(round, known);
    return known;
  };
  const find = (slug: string) => {
    const nowMs = nowMsOf({ nowUs });
    const found = [roundAt(nowMs - lengthMs), roundAt(nowMs), roundAt(nowMs + lengthMs)].find((one) => one.find(slug));
    return found === undefined ? undefined : ([found, found.find(slug)!] as const);
  };
  return {
    find: (slug) => find(slug)?.[1],
    open: (listing, nowMs) => find(listing.slug)![0].open(listing, nowMs),
  };
}

/** One fault every 15 seconds, in turn. */
function misbehave(turn = 0): void {
  const { links } = proxy;
  const link = links[turn % Math.max(1, links.length)];
  const kinds: readonly (readonly [string, () => void])[] = [
    ['kills a socket', () => link?.kill('reset')],
    ['refuses requests of Gamma with 429', () => proxy.refuse(/^\/markets/, 429, REFUSED_MS)],
    ['freezes a socket, which still answers PING', () => link?.freeze()],
    ['loses a tenth of the frames of a socket', () => link && Object.assign(link.faults, { drop: 0.1 })],
  ];
  const [name, work] = kinds[turn % kinds.length]!;
  console.log(`${new Date(nowMsOf(clock)).toISOString()} the venue ${name}`);
  work();
  clock.after(FAULT_MS, () => misbehave(turn + 1));
}
