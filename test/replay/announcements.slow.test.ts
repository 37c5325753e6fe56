import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Replay } from '../../src/replay/replay.ts';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { realRecording } from '../support/real-recordings.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleMarket,
  sampleSnapshot,
  UP_ASSET,
} from '../support/sample-records.ts';
import { RecordingConnection, venueSession } from './recording-connection.ts';
import { filledTardisServer } from './tardis-server.ts';
import { anotherReplay, filledServer, venueServer } from './venue-server.ts';

type Json = Readonly<Record<string, unknown>>;

const SESSION = realRecording('sessions-15m/m9-rtds-natural-20260428d/raw_messages.jsonl');
/** Empty in messages about up-or-down markets, and not kept. */
const NOT_KEPT = ['sports_market_type', 'line', 'game_start_time', 'group_item_title'];

/** All `new_market` and `market_resolved` messages of a replay's channel between its clock and its end. */
async function announced(replay: Replay): Promise<Json[]> {
  const connection = new RecordingConnection();
  const session = venueSession(replay, connection, () => 0);
  session.received(JSON.stringify({ type: 'market', assets_ids: [UP_ASSET], custom_feature_enabled: true }));
  const { nowMs, span } = replay.clock;
  replay.clock.stepTo(span.toMs);
  const expected = replay.announcementAfter(span.toMs) - replay.announcementAfter(nowMs);
  const found = () =>
    connection.frames
      .flatMap((frame): Json[] => [JSON.parse(frame)].flat())
      .filter((message) => message.event_type === 'new_market' || message.event_type === 'market_resolved');
  while (found().length < expected) await new Promise((resolve) => setImmediate(resolve));
  session.closed();
  return found();
}

test.skipIf(SESSION === undefined)('In new_market active is false, as the venue sends it.', async () => {
  using held = temporaryArchive();
  await importPaths(held.archive, SESSION!);
  const real = readFileSync(SESSION!, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(JSON.parse(line).payload))
    .filter(({ event_type }) => event_type === 'new_market');
  expect(real.length).toBeGreaterThan(5);
  await using server = venueServer(held.archive);
  const sent = await announced(server.replay);
  for (const message of real) {
    const { timestamp, ...expected } = message;
    for (const name of NOT_KEPT) {
      expect(message[name]).toBe('');
      delete expected[name];
    }
    const { timestamp: _, ...found } = sent.find(({ market }) => market === message.market)!;
    expect(found).toEqual(expected);
  }
});

const RESOLVED_MS = START_MS + 310_000;
const RECORDS = [
  sampleMarket({
    ...{ winner: 'down', createdAt: new Date(START_MS - 60_000).toISOString() },
    resolvedAt: new Date(RESOLVED_MS).toISOString(),
    details: {
      question: 'Asked?',
      title: 'Titled',
      description: 'Of April 16.',
      takerBaseFee: 1000,
      feesEnabled: true,
    },
  }),
  sampleSnapshot({ timestamp: START_MS + 1000 }),
  // Nothing is stated of it.
  sampleMarket({
    ...{ conditionId: `0x${'22'.repeat(32)}`, slug: 'btc-updown-5m-1776323700', clobTokenIds: ['21', '22'] },
    ...{ marketId: undefined, eventId: undefined, createdAt: new Date(START_MS + 20_000).toISOString() },
    ...{ startTime: '2026-04-16T07:15:00Z', endTime: '2026-04-16T07:20:00Z' },
  }),
];

test('Announcements have the ids and texts of Gamma, with --rebase now too.', async () => {
  await using server = await filledServer([RECORDS]);
  const span = { fromMs: START_MS - 120_000, toMs: RESOLVED_MS + 1000 };
  const plain = anotherReplay(server, span, span.fromMs);
  const moved = anotherReplay(server, { ...span, rebase: true }, span.fromMs);
  for (const replay of [plain, moved]) {
    const sent = await announced(replay);
    // The rebased one starts after the first listing.
    expect(sent.map(({ event_type }) => event_type)).toEqual([
      ...(replay === plain ? ['new_market'] : []),
      ...['new_market', 'market_resolved'],
    ]);
    for (const message of sent) {
      const path = `/replays/${replay.id}/markets/slug/${message.slug}`;
      const { events, ...market } = await server.json(path);
      const { id, ticker, slug, title, description } = events[0];
      expect(message).toMatchObject({
        ...{ id: market.id, question: market.question, market: market.conditionId, slug: market.slug },
        ...{ assets_ids: JSON.parse(market.clobTokenIds), outcomes: JSON.parse(market.outcomes), tags: [] },
        timestamp: String(Date.parse(message.event_type === 'new_market' ? market.startDate : market.umaEndDate)),
      });
      expect(message.event_message).toEqual(JSON.parse(JSON.stringify({ id, ticker, slug, title, description })));
      expect(message.description).toBe(market.description);
      if (message.event_type !== 'new_market') continue;
      const { takerBaseFee, feesEnabled } = market;
      expect([message.taker_base_fee, message.fees_enabled]).toEqual([
        takerBaseFee === undefined ? undefined : String(takerBaseFee),
        feesEnabled,
      ]);
      expect(message.order_price_min_tick_size).toBe('0.01');
    }
    const about = (conditionId: string) => sent.filter(({ market }) => market === conditionId);
    const isMoved = replay === moved;
    for (const message of about(CONDITION_ID)) {
      expect([message.question, message.description]).toEqual(
        isMoved ? [expect.stringMatching(/^Bitcoin Up or Down - /), undefined] : ['Asked?', 'Of April 16.'],
      );
    }
  }
});

test('tardis-machine’s interface has the same announcements', async () => {
  await using server = await filledServer([RECORDS]);
  await using tardis = await filledTardisServer(RECORDS);
  const span = { fromMs: START_MS - 120_000, toMs: RESOLVED_MS + 1000 };
  const expected = await announced(anotherReplay(server, span, span.fromMs));
  const filters = ['new_market', 'market_resolved'].map((channel) => ({
    channel,
    symbols: [UP_ASSET, DOWN_ASSET, '21'],
  }));
  const lines = await tardis.lines('/replay', {
    ...{ exchange: 'polymarket', from: new Date(span.fromMs).toISOString(), to: new Date(span.toMs).toISOString() },
    filters,
  });
  expect(lines.filter((line) => line !== '').map((line) => JSON.parse(line).message)).toEqual(expected);
});
