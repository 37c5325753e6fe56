import { join } from 'node:path';
import { Replay } from '../../src/replay/replay.ts';
import type { Archive } from '../../src/store/archive.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { Capture, timeOf } from './capture.ts';
import { RecordedDirectory } from './recorded-directory.ts';
import { SimulatedClock } from './simulated-clock.ts';
import type { MarketDirectory, VenueMarket } from './venue-market.ts';
import { type ProxyOptions, VenueProxy } from './venue-proxy.ts';
import { VenueStandIn } from './venue-stand-in.ts';

/** A time before the first message of the capture: clients have time to connect. */
const BEFORE_MS = 20_000;

/** A real capture, and an archive that has imported it. All tests of a file may read one. */
export interface CapturedSource extends Disposable {
  readonly archive: Archive;
  readonly capture: Capture;
}

export async function capturedSource(directory: string): Promise<CapturedSource> {
  const source = temporaryArchive();
  await importPaths(source.archive, join(directory, 'markets.json'), join(directory, 'market-ws.jsonl'));
  return { archive: source.archive, capture: new Capture(directory), [Symbol.dispose]: () => source[Symbol.dispose]() };
}

/**
 * A real capture as the venue, at the time of its recording, with a proxy in front: its own messages in the order of their arrival, or
 * with `isReplayed` those that `bookreel replay` makes of it.
 */
export function capturedVenue(
  { archive, capture }: CapturedSource,
  options: Partial<ProxyOptions> = {},
  isReplayed = false,
) {
  const clock = new SimulatedClock(capture.firstMs - BEFORE_MS);
  const markets = isReplayed
    ? new RecordedDirectory(new Replay(archive, EVERYTHING, { monotonicMs: () => 0, wallMs: () => 0 }))
    : directoryOf(capture);
  const proxy = new VenueProxy({ venue: new VenueStandIn(clock, markets), clock, seed: 'capture', ...options });
  return { clock, proxy };
}

function directoryOf(capture: Capture): MarketDirectory {
  return {
    find: (slug) => (slug === capture.listing.slug ? capture.listing : undefined),
    open: () => marketOf(capture),
  };
}

/** A message is sent at its time, or with an earlier one of a later time. */
function marketOf(capture: Capture): VenueMarket {
  const { messages, listing } = capture;
  let next = 0;
  let nowMs = 0;
  const timeAt = (index: number) => Math.max(nowMs, timeOf(messages[index]!));
  return {
    listing,
    get nextMs() {
      return next < messages.length ? timeAt(next) : undefined;
    },
    next: () => {
      nowMs = timeAt(next);
      const message = messages[next]!;
      next += 1;
      const assetIds = message.price_changes?.map(({ asset_id }) => asset_id) ?? [message.asset_id];
      return [{ assetIds, text: JSON.stringify(message) }];
    },
    opening: (assetId) => capture.opening(assetId, nowMs),
  };
}
