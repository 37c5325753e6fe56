import { expect, test } from 'bun:test';
import { KNOWN, KNOWN_MS, later } from '../http/futures.ts';
import { randomsOf } from '../support/random-books.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, UP_ASSET } from '../support/sample-records.ts';
import { filledServer } from './venue-server.ts';

const SLUG = 'btc-updown-5m-1776323400';
const LATE_MARKET = `0x${'cd34'.repeat(16)}`;
const INSTANTS = 30;
const SHIFT_MS = 28 * 86_400_000;

/** Requests of every path, for known assets and markets, and for later ones. `slugs`: of a known market and of later ones. */
function questions(slugs = [SLUG, 'late-1', 'late-2']): readonly (readonly [path: string, body?: unknown])[] {
  const assets = [UP_ASSET, DOWN_ASSET, '11', '12', '21', '22'];
  const items = assets.flatMap((token_id) => [{ token_id, side: 'BUY' }, { token_id }]);
  const about = assets.flatMap((assetId) => [
    ...['book', 'midpoint', 'spread', 'last-trade-price', 'tick-size', 'neg-risk', 'fee-rate'].map(
      (path) => `/${path}?token_id=${assetId}`,
    ),
    ...['BUY', 'SELL'].map((side) => `/price?token_id=${assetId}&side=${side}`),
    ...['interval=1h', 'interval=max&fidelity=2', `startTs=${START_MS / 1000}&endTs=${KNOWN_MS / 1000 + 600}`].map(
      (query) => `/prices-history?market=${assetId}&${query}`,
    ),
  ]);
  const lists = ['/markets', '/events'].flatMap((path) =>
    [
      ...[
        '',
        'closed=true',
        'closed=false',
        'active=true&order=endDate&ascending=false',
        'limit=1',
        'limit=1&offset=1',
      ],
      ...[...slugs.map((slug) => `slug=${slug}`), 'series_id=10684', 'order=closedTime'],
      ...[`condition_ids=${LATE_MARKET}`, 'clob_token_ids=11', 'end_date_min=2026-04-16T07:15:01Z'],
    ].map((query) => `${path}?${query}`),
  );
  const single = ['markets', 'events'].flatMap((noun) => slugs.map((slug) => `/${noun}/slug/${slug}`));
  const others = [
    ...['/time', '/series', '/series?slug=btc-up-or-down-5m', '/series/10684', '/markets/keyset'],
    ...['/events/keyset?limit=1', '/markets?next_cursor=MA==', '/simplified-markets', '/sampling-markets'],
    ...['/clob/sampling-simplified-markets', `/markets/${CONDITION_ID}`, `/markets/${LATE_MARKET}`],
    `/clob/markets/${LATE_MARKET}`,
    ...['/ok', '/trades', '/data-api/trades?limit=3&offset=2', '/trades?side=BUY', `/trades?market=${CONDITION_ID}`],
    ...[CONDITION_ID, LATE_MARKET].flatMap((conditionId) =>
      ['clob-markets', 'live-activity/events', 'markets/live-activity'].map((path) => `/${path}/${conditionId}`),
    ),
    ...assets.map((assetId) => `/markets-by-token/${assetId}`),
    ...['btc', 'late', 'up', 'down&events_status=active', 'btc&sort=end_date'].map((q) => `/public-search?q=${q}`),
    `/trades?start=${START_MS / 1000}&end=${KNOWN_MS / 1000 + 600}&limit=10000`,
  ];
  const batches = ['books', 'midpoints', 'spreads', 'prices', 'last-trades-prices'];
  return [
    ...[...about, ...lists, ...single, ...others].map((path) => [path] as const),
    ...batches.map((path) => [`/${path}`, items] as const),
  ];
}

/** Without the venue's ids and details, which a replay has at any time, as the venue does. */
function laterWithoutIds(seed: number): readonly object[] {
  return later(seed).map((record) => ({ ...record, marketId: undefined, eventId: undefined, details: undefined }));
}

test('No byte of the venue’s REST or of Gamma depends on later records.', async () => {
  const random = randomsOf(17);
  // One import gives the ids of all records, or of each part.
  await using first = await filledServer([[...laterWithoutIds(1), ...KNOWN]]);
  await using second = await filledServer([KNOWN, laterWithoutIds(2)]);
  await using nothing = await filledServer([KNOWN]);
  const asked = questions();
  const sent = new Set<string>();
  for (let i = 0; i < INSTANTS; i += 1) {
    const nowMs = i === 0 ? KNOWN_MS : START_MS - 2000 + Math.floor(random() * (KNOWN_MS - START_MS + 2001));
    for (const { replay } of [first, second, nothing]) replay.clock.seek(nowMs);
    for (let nth = i % 3; nth < asked.length; nth += 3) {
      const [path, body] = asked[nth]!;
      const answers = await Promise.all([first, second, nothing].map((server) => server.ask(path, body)));
      expect([path, answers[1], answers[2]]).toEqual([path, answers[0], answers[0]]);
      sent.add(answers[0]!.text);
    }
  }
  expect(sent.size).toBeGreaterThan(250);
});

test('No byte of a rebased replay depends on later records, nor does its start.', async () => {
  const random = randomsOf(18);
  let wallMs = 0;
  const serverOf = (...batches: readonly object[][]) => filledServer(batches, { rebase: true }, () => wallMs);
  await using first = await serverOf([...laterWithoutIds(1), ...KNOWN]);
  await using nothing = await serverOf([...KNOWN]);
  const sent = new Set<string>();
  for (let i = 0; i < 12; i += 1) {
    const nowMs = START_MS + 5000 + Math.floor(random() * (KNOWN_MS - START_MS - 5000));
    // All windows of any timeframe are on the venue's grid again.
    wallMs = nowMs + SHIFT_MS;
    for (const { replay } of [first, nothing]) {
      replay.seek(nowMs);
      expect([replay.clock.nowMs, replay.shiftMs]).toEqual([nowMs, SHIFT_MS]);
    }
    const slugs = [SLUG, ...[0, 300, 600].map((seconds) => `btc-updown-5m-${(START_MS + SHIFT_MS) / 1000 + seconds}`)];
    const asked = questions(slugs);
    for (let nth = i % 3; nth < asked.length; nth += 3) {
      const [path, body] = asked[nth]!;
      const [answer, same] = await Promise.all([first, nothing].map((server) => server.ask(path, body)));
      expect([path, same]).toEqual([path, answer!]);
      sent.add(answer!.text);
    }
  }
  expect(sent.size).toBeGreaterThan(100);
});

test('answers have a record from its time on', async () => {
  await using server = await filledServer([KNOWN, later(1)]);
  server.replay.clock.seek(KNOWN_MS + 600_000);
  expect(await server.json('/markets?closed=true')).toMatchObject([{ slug: SLUG, outcomePrices: '["0", "1"]' }]);
  expect(await server.json('/markets?slug=late-1')).toMatchObject([{ slug: 'late-1', closed: false }]);
});
