import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { entriesOf } from './channel-entries.ts';
import { PlainClient } from './plain-client.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import type { SimulatedMarket } from './simulated-market.ts';
import { type ProxyOptions, VenueProxy } from './venue-proxy.ts';
import { VenueStandIn } from './venue-stand-in.ts';

/** 2026-06-01T00:00:00Z, a start of windows. */
const START_MS = Date.UTC(2026, 5, 1);
const FIVE_MS = 300_000;

const slugAt = (startMs: number, coin = 'btc') => `${coin}-updown-5m-${startMs / 1000}`;
const SLUG = slugAt(START_MS);

function venue(options: Partial<ProxyOptions> = {}, eventsPerSecond = 3) {
  const clock = new SimulatedClock(START_MS - 200_000);
  const markets: SimulatedMarket[] = [];
  const pace = { eventsPerSecond, beforeStartMs: 50_000, keepsLines: true };
  const directory = new SimulatedDirectory(['btc', 'eth'], pace, (market) => markets.push(market));
  const proxy = new VenueProxy({ venue: new VenueStandIn(clock, directory), clock, seed: 'proxy', ...options });
  return { clock, proxy, markets, directory };
}

type Place = ReturnType<typeof venue>;

const listed = async ({ proxy }: Place, ...slugs: string[]) => {
  const { text } = await proxy.answer(`/markets?${slugs.map((slug) => `slug=${slug}`).join('&')}`);
  return JSON.parse(text).map((market: { slug: string; clobTokenIds: string }) => market);
};

const assetsOf = ({ directory }: Place, slug = SLUG) => [...directory.find(slug)!.assetIds];

/** A client that follows a market from its listing to its end. */
async function followed(place: Place): Promise<PlainClient> {
  await listed(place, SLUG);
  const client = new PlainClient(place.proxy, (opened) => opened.open(assetsOf(place)));
  await place.clock.run(START_MS + FIVE_MS + 1000);
  return client;
}

test('the stand-in sends books with right hashes, and every change of a window once', async () => {
  const place = venue();
  const client = await followed(place);
  expect(client.books()).toEqual(assetsOf(place));
  const [market] = place.markets;
  const changed = client.messages().filter(({ event_type }) => event_type === 'price_change');
  // The first book is that of the listing.
  expect(new Set(changed.map(({ timestamp }) => timestamp)).size).toBe(market!.expected.up.count - 1);
  expect(market!.expected.up.count).toBeGreaterThan(900);
  expect(market!.expected.down.count).toBe(market!.expected.up.count);
  const { text } = await place.proxy.answer(`/book?token_id=${assetsOf(place)[1]}`);
  const { hash, ...book } = JSON.parse(text);
  const { market: condition, asset_id, timestamp, ...rest } = book;
  const summary = JSON.stringify({ market: condition, asset_id, timestamp, hash: '', ...rest });
  expect(createHash('sha1').update(summary).digest('hex')).toBe(hash);
});

test('two clients get the same messages of a market, whatever the time at which they come', async () => {
  const place = venue();
  await listed(place, SLUG);
  const first = new PlainClient(place.proxy, (opened) => opened.open(assetsOf(place)));
  await place.clock.run(START_MS + 60_000);
  const second = new PlainClient(place.proxy, (opened) => opened.open(assetsOf(place)));
  await place.clock.run(START_MS + FIVE_MS + 1000);
  const later = entriesOf(second.texts.slice(1));
  expect(later.length).toBeGreaterThan(500);
  expect(entriesOf(first.texts).slice(-later.length)).toEqual(later);
});

test.each([
  ['doubles', { double: 0.3 }],
  ['delays', { delayMsMax: 400 }],
  ['reorders', { reorderMsMax: 90 }],
  ['cuts arrays differently', { recuts: true }],
] as const)('a proxy that %s loses nothing', async (_, faults) => {
  const [plain, faulty] = [venue(), venue({ faultsOf: () => faults })];
  const [right, found] = [entriesOf((await followed(plain)).texts), entriesOf((await followed(faulty)).texts)];
  expect([...new Set(found)].sort()).toEqual([...new Set(right)].sort());
  expect(found.join('\n') === right.join('\n')).toBe('delayMsMax' in faults || 'recuts' in faults);
});

test('a proxy with recuts sends other arrays', async () => {
  const client = await followed(venue({ faultsOf: () => ({ recuts: true }) }));
  const sizes = client.texts.map((text) => [JSON.parse(text)].flat().length);
  expect(new Set(sizes).size).toBeGreaterThan(2);
  expect(client.messages().some(({ price_changes }) => price_changes?.length === 1)).toBe(true);
});

test('a proxy that drops frames drops the given share', async () => {
  const [right, found] = [await followed(venue()), await followed(venue({ faultsOf: () => ({ drop: 0.1 }) }))];
  const share = found.texts.length / right.texts.length;
  expect(share).toBeGreaterThan(0.85);
  expect(share).toBeLessThan(0.95);
});

test('a frozen connection answers PING, and sends nothing else', async () => {
  const place = venue();
  await listed(place, SLUG);
  const client = new PlainClient(place.proxy, (opened) => opened.open(assetsOf(place)));
  await place.clock.run(START_MS);
  place.proxy.links[0]!.freeze();
  const { length } = client.texts;
  client.ping();
  await place.clock.run(START_MS + 60_000);
  expect(client.texts.slice(length)).toEqual(['PONG']);
  expect(client.ends).toEqual([]);
});

test('a killed connection ends once, and gets nothing after its end', async () => {
  const place = venue();
  await listed(place, SLUG);
  const client = new PlainClient(place.proxy, (opened) => opened.open(assetsOf(place)));
  await place.clock.run(START_MS);
  const [link] = place.proxy.links;
  link!.kill('reset');
  link!.kill();
  const { length } = client.texts;
  await place.clock.run(START_MS + 1000);
  expect(client.ends).toEqual(['reset']);
  expect(client.texts).toHaveLength(length);
  expect(place.proxy.links).toEqual([]);
});

test('a second opening frame and repeated assets are refused', async () => {
  const place = venue();
  const [up, down] = assetsOf(place) as [string, string];
  await listed(place, SLUG);
  const client = new PlainClient(place.proxy, (opened) => {
    opened.open([up]);
    opened.open([down]);
    opened.subscribe([up]);
    opened.subscribe([down, down]);
    opened.subscribe([down]);
  });
  await place.clock.run(START_MS - 199_000);
  expect(client.texts.filter((text) => text === 'INVALID OPERATION')).toHaveLength(3);
  const { refusedOpenings, refusedDuplicates, openings, subscribes } = place.proxy.counts;
  expect({ refusedOpenings, refusedDuplicates, openings, subscribes }).toEqual({
    ...{ refusedOpenings: 1, refusedDuplicates: 2, openings: 2, subscribes: 3 },
  });
  const books = client.texts.filter((text) => text.startsWith('['));
  expect(books).toHaveLength(2);
});

test('a subscription that is not answered gets nothing until it is repeated', async () => {
  const place = venue({ faultsOf: () => ({ unanswered: 1 }) });
  await listed(place, SLUG);
  const client = new PlainClient(place.proxy, (opened) => opened.open(assetsOf(place)));
  await place.clock.run(START_MS + 10_000);
  expect(client.texts).toEqual([]);
  client.unsubscribe(assetsOf(place));
  client.subscribe(assetsOf(place));
  expect(client.books()).toEqual(assetsOf(place));
  expect(place.proxy.counts.unanswered).toBe(1);
});

test('a connection with too many assets gets changes without books', async () => {
  const place = venue({ rules: { dumpAssetsMax: 3 } });
  const others = slugAt(START_MS, 'eth');
  await listed(place, SLUG, others);
  const client = new PlainClient(place.proxy, (opened) => {
    opened.open(assetsOf(place));
    opened.subscribe(assetsOf(place, others));
  });
  await place.clock.run(START_MS + 10_000);
  expect(client.books()).toEqual(assetsOf(place));
  const [late] = assetsOf(place, others);
  expect(client.messages().some(({ price_changes }) => price_changes?.some(({ asset_id }) => asset_id === late))).toBe(
    true,
  );
});

test('a connection with too many ended assets gets nothing of new ones until it unsubscribes', async () => {
  const place = venue({ rules: { endedAssetsMax: 1 } });
  await listed(place, SLUG);
  const client = new PlainClient(place.proxy, (opened) => opened.open(assetsOf(place)));
  await place.clock.run(START_MS + FIVE_MS + 1000);
  const next = slugAt(START_MS + 2 * FIVE_MS);
  await listed(place, next);
  client.subscribe(assetsOf(place, next));
  expect(client.books()).toEqual(assetsOf(place));
  expect(place.proxy.counts.silentlyDropped).toBe(2);
  client.unsubscribe([...assetsOf(place), ...assetsOf(place, next)]);
  client.subscribe(assetsOf(place, next));
  expect(client.books()).toEqual([...assetsOf(place), ...assetsOf(place, next)]);
  expect(place.proxy.counts.subscribedAfterEndMsMax).toBe(1000);
});

test.each([425, 429, 403])('a proxy refuses requests and connections with %d for a time', async (status) => {
  const place = venue();
  place.proxy.refuse(/^\//, status, 60_000);
  expect((await place.proxy.answer('/ws/market')).status).toBe(status);
  expect((await place.proxy.answer(`/markets?slug=${SLUG}`)).status).toBe(status);
  const client = new PlainClient(place.proxy);
  await place.clock.run(START_MS - 139_000);
  expect([client.isOpen, client.ends.length]).toEqual([false, 1]);
  expect((await place.proxy.answer(`/markets?slug=${SLUG}`)).status).toBe(200);
});

test('Gamma is late, with a market, its ids and its winner', async () => {
  const place = venue();
  const { proxy, clock } = place;
  Object.assign(proxy.gamma, { lateMs: 60_000, idsLateMs: 120_000 });
  expect(await listed(place, SLUG)).toEqual([]);
  await clock.run(START_MS - 139_000);
  expect((await listed(place, SLUG))[0].clobTokenIds).toBe('');
  await clock.run(START_MS - 19_000);
  expect(JSON.parse((await listed(place, SLUG))[0].clobTokenIds)).toEqual(assetsOf(place));
  const closedMs = place.directory.find(SLUG)!.resolution!.closedMs;
  await clock.run(closedMs + 1000);
  const closed = async () => JSON.parse((await proxy.answer(`/markets?slug=${SLUG}&closed=true`)).text)[0];
  expect((await closed())?.closed).toBe(false);
  await clock.run(closedMs + 62_000);
  expect((await closed()).closed).toBe(true);
});

test('a slug never comes, and another one is answered with the market of another year', async () => {
  const place = venue();
  const other = slugAt(START_MS + FIVE_MS);
  place.proxy.gamma.never.add(SLUG);
  place.proxy.gamma.wrongYear.add(other);
  const [found, ...more] = await listed(place, SLUG, other);
  expect(more).toEqual([]);
  expect([found.slug, found.endDate.slice(0, 4)]).toEqual([other, '2025']);
  expect(found.clobTokenIds).not.toContain(assetsOf(place, other)[0]!);
});

test('a proxy counts the windows without a book before their start, and what stays subscribed', async () => {
  const place = venue({ rules: { dumpAssetsMax: 500 } });
  const second = slugAt(START_MS + FIVE_MS);
  await listed(place, SLUG, second);
  const client = new PlainClient(place.proxy, (opened) => opened.open(assetsOf(place)));
  await place.clock.run(START_MS + FIVE_MS);
  client.subscribe(assetsOf(place, second));
  const { counts } = place.proxy;
  expect(counts.lateWindows(START_MS, START_MS + 2 * FIVE_MS)).toEqual([second]);
  expect(counts.assetsMax).toBe(4);
  await place.clock.run(START_MS + FIVE_MS + 61_000);
  expect(new Set(counts.overdue(START_MS + FIVE_MS + 61_000, 60_000))).toEqual(new Set([SLUG]));
});
