import { expect, test } from 'bun:test';
import { entriesOf } from './channel-entries.ts';
import { PlainClient } from './plain-client.ts';
import { listen } from './proxy-listener.ts';
import { remoteVenue } from './remote-venue.ts';
import { SimulatedDirectory } from './simulated-directory.ts';
import { nowMsOf, realClock } from './venue-clock.ts';
import { VenueProxy } from './venue-proxy.ts';
import { VenueStandIn } from './venue-stand-in.ts';

const FIVE_MS = 300_000;

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(2);
}

function served() {
  const clock = realClock();
  const nowMs = nowMsOf(clock);
  const startMs = (Math.floor(nowMs / FIVE_MS) + 2) * FIVE_MS;
  // The books have begun to change a second ago.
  const pace = { eventsPerSecond: 200, beforeStartMs: startMs - nowMs + 1000, keepsLines: false };
  const directory = new SimulatedDirectory(['btc'], pace);
  const proxy = new VenueProxy({ venue: new VenueStandIn(clock, directory), clock, seed: 'listener' });
  const slug = `btc-updown-5m-${startMs / 1000}`;
  return { proxy, slug, assetIds: [...directory.find(slug)!.assetIds], listener: listen(proxy) };
}

test('sockets and REST of a port have what the proxy has', async () => {
  const { proxy, slug, assetIds, listener } = served();
  await using place = listener;
  const venue = remoteVenue(place.url);
  const { status, text } = await venue.answer(`/markets?slug=${slug}`);
  expect([status, JSON.parse(text)[0].slug]).toEqual([200, slug]);
  const client = new PlainClient(venue, (opened) => opened.open(assetIds));
  await until(() => client.changes() > 50);
  expect(client.books()).toEqual(assetIds);
  client.ping();
  await until(() => client.texts.includes('PONG'));
  expect(proxy.links.map(({ assets }) => [...assets])).toEqual([assetIds]);
  const { text: books } = await venue.answer('/books', JSON.stringify(assetIds.map((token_id) => ({ token_id }))));
  expect(JSON.parse(books).map(({ asset_id }: { asset_id: string }) => asset_id)).toEqual(assetIds);
  client.close();
  await until(() => proxy.links.length === 0);
});

test('a proxy in front of a proxy passes everything on', async () => {
  const { slug, assetIds, listener } = served();
  await using first = listener;
  const clock = realClock();
  await using second = listen(new VenueProxy({ venue: remoteVenue(first.url), clock, seed: 'second' }));
  const venues = [remoteVenue(first.url), remoteVenue(second.url)];
  await venues[1]!.answer(`/markets?slug=${slug}`);
  const clients = venues.map((venue) => new PlainClient(venue, (opened) => opened.open(assetIds)));
  await until(() => clients.every((client) => client.changes() > 100));
  const [direct, passed] = clients.map(({ texts }) => entriesOf(texts.slice(1)));
  const common = direct!.indexOf(passed![5]!);
  expect(common).toBeGreaterThanOrEqual(0);
  expect(passed!.slice(5, 45)).toEqual(direct!.slice(common, common + 40));
  for (const client of clients) client.close();
});

test.each(['reset', 'restart'])('a connection that is killed ends at the client (%s)', async (reason) => {
  const { proxy, slug, assetIds, listener } = served();
  await using place = listener;
  const venue = remoteVenue(place.url);
  await venue.answer(`/markets?slug=${slug}`);
  const client = new PlainClient(venue, (opened) => opened.open(assetIds));
  await until(() => client.changes() > 0);
  proxy.links[0]!.kill(reason);
  await until(() => client.ends.length > 0);
  expect(client.ends[0]).toContain(reason === 'reset' ? '1006' : '1001');
});

test('refused connections do not open', async () => {
  const { proxy, listener } = served();
  await using place = listener;
  proxy.refuse(/^\/ws/, 429, 600_000);
  const client = new PlainClient(remoteVenue(place.url));
  await until(() => client.ends.length > 0);
  expect(client.isOpen).toBe(false);
  expect((await remoteVenue(place.url).answer('/ws/market')).status).toBe(429);
});
