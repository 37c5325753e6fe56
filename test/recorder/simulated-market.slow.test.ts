import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf, marketOf } from '../support/imported.ts';
import { bookLine } from './book-ledger.ts';
import { PlainClient } from './plain-client.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import type { SimulatedMarket } from './simulated-market.ts';
import { VenueStandIn } from './venue-stand-in.ts';

const START_MS = Date.UTC(2026, 5, 1);

test.each([0, 1, 2])('the import of a simulated market has its books, without gaps (window %d)', async (index) => {
  const startMs = START_MS + index * 300_000;
  const slug = `btc-updown-5m-${startMs / 1000}`;
  const clock = new SimulatedClock(startMs - 200_000);
  const markets: SimulatedMarket[] = [];
  const pace = { eventsPerSecond: 4, beforeStartMs: 50_000, keepsLines: true };
  const venue = new VenueStandIn(clock, new SimulatedDirectory(['btc'], pace, (market) => markets.push(market)));
  const listing = await venue.answer(`/markets?slug=${slug}`);
  const client = new PlainClient(venue, (opened) => opened.open([...markets[0]!.listing.assetIds]));
  await clock.run(startMs + 301_000);
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  const [frames, gamma] = [join(directory.path, 'frames.jsonl'), join(directory.path, 'gamma.json')];
  writeFileSync(frames, client.texts.map((text) => `${text}\n`).join(''));
  writeFileSync(gamma, listing.text);
  await importPaths(place.archive, gamma, frames);
  const market = marketOf(place.archive, slug);
  expect(place.archive.gaps.list(market.key)).toEqual([]);
  for (const outcome of ['up', 'down'] as const) {
    const found = booksOf(place.archive, slug, outcome).map(({ timestampMs, book }) => bookLine(timestampMs, book));
    expect(found).toEqual(markets[0]!.expected[outcome].lines);
  }
});
