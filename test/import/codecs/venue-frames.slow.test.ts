import { describe, expect, test } from 'bun:test';
import { LEVELS_MAX } from '../../../src/domain/orderbook.ts';
import { venueFrames } from '../../../src/import/codecs/venue-frames.ts';
import type { SnapshotPace } from '../../../src/import/rebuild/pace.ts';
import { Sample } from '../../../src/import/sample.ts';
import { temporaryArchive } from '../../support/archive.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, UP_ASSET } from '../../support/sample-records.ts';
import { KeepingSink, readAll } from '../rebuild/keeping-sink.ts';
import {
  at,
  book,
  buy,
  change,
  type Frame,
  gapsOf,
  type Level,
  MARKET,
  type Seen,
  seen,
  sell,
  snapshotsOf,
  venueHash,
} from '../rebuild/venue-messages.ts';

const BIDS: readonly Level[] = [
  ['0.4', '10'],
  ['0.48', '30'],
];
const ASKS: readonly Level[] = [
  ['0.6', '5'],
  ['0.52', '7.25'],
];
const FIRST = book(0, BIDS, ASKS);
const FIRST_SEEN = seen(0, '0.48:30 0.4:10', '0.52:7.25 0.6:5');

interface Reading {
  readonly every?: SnapshotPace;
  /** Whether the market is known before the import. */
  readonly isKnown?: boolean;
}

/** Reads files of lines. A line that is an object is written as JSON. */
async function read(files: readonly (readonly (Frame | string | readonly Frame[])[])[], reading: Reading = {}) {
  using place = temporaryArchive();
  const sink = new KeepingSink(place.archive);
  if (reading.isKnown !== false) sink.know(MARKET.statement);
  const codec = venueFrames();
  const lines = files.map((file) => file.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))));
  await readAll(codec, sink, lines, reading.every);
  expect(sink.openItems()).toEqual([]);
  return {
    sink,
    up: snapshotsOf(sink.records, 'up'),
    down: snapshotsOf(sink.records, 'down'),
    gaps: gapsOf(sink.records),
    reasons: sink.reasons(),
    notes: sink.notes(),
  };
}

/** The time and the best bid of each snapshot. */
function bestBids(snapshots: readonly Seen[]): string {
  return snapshots.map(({ timestampMs, bids }) => `${timestampMs - START_MS} ${bids[0]?.join(':')}`).join(', ');
}

/** A message of a kind about the up asset. */
function message(event_type: string, offsetMs: number, fields: Frame = {}): Frame {
  return { event_type, market: CONDITION_ID, asset_id: UP_ASSET, timestamp: at(offsetMs), ...fields };
}

function sampleOf(...lines: readonly string[]): Sample {
  return new Sample('x.jsonl', new TextEncoder().encode(lines.join('\n')));
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

describe('a wrapped frame', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['bare', json(FIRST)],
    ['in an array', json([FIRST])],
    ['as an object in payload', json({ capturedAt: 1776808414, payload: FIRST })],
    ['as an array in payload', json({ capturedAt: 1776808414, payload: [FIRST] })],
    ['as a text in payload', json({ source: 'clob', payload: `${json(FIRST)}\n` })],
    ['as a text of an array in payload', json({ source: 'clob', payload: json([FIRST]) })],
    [
      'next to a clock of more digits than a number carries',
      `{"ns":1777366911692798000,"s":1777366911.692798123,"payload":${json(json(FIRST))}}`,
    ],
    ...['message', 'msg', 'data', 'frame', 'raw', 'raw_data'].map(
      (name) => [`in ${name}`, json({ [name]: FIRST })] as const,
    ),
    ['after a time', `1776323400123 ${json(FIRST)}`],
    ['after a time in seconds, in an array', `1776323400.123\t${json([FIRST])}`],
    ['after an ISO time', `2026-04-16T07:10:00.123456Z ${json(FIRST)}`],
    ['after a time in brackets', `[2026-04-16 07:10:00,123] ${json(FIRST)}`],
    ['in a pair with its time', json([1776323400.123, FIRST])],
    ['in a pair with its time, as text', json(['2026-04-16T07:10:00Z', json(FIRST)])],
    ['in a pair with its time, in an array', json([1776323400123, [FIRST]])],
    ['next to a word that is not a frame', json({ msg: 'received', data: FIRST })],
    ['next to its own type', json({ event_type: 'book', ts: 1, payload: json(FIRST) })],
    ['in d', json({ t: 1776323400123, d: FIRST })],
    ['in d as text', json({ t: 1776323400123, d: json([FIRST]) })],
    ['in event', json({ ts: 1, event: FIRST })],
    ['in data next to an event', json({ event: 'book', data: FIRST })],
    ['in books', json({ ts: 1, books: [FIRST] })],
    [
      'in books by asset',
      json({ timestamp: FIRST.timestamp, books: { [UP_ASSET]: { bids: FIRST.bids, asks: FIRST.asks } } }),
    ],
    [
      'in book, next to its market and asset',
      json({
        market: CONDITION_ID,
        asset_id: UP_ASSET,
        book: { bids: FIRST.bids, asks: FIRST.asks, timestamp: FIRST.timestamp },
      }),
    ],
    ['with levels as pairs', json({ ...FIRST, bids: BIDS, asks: ASKS })],
    ['as REST answers it, without event_type', json({ ...FIRST, event_type: undefined })],
    [
      'as a row of one channel',
      json({
        slug: 'x',
        asset_id: UP_ASSET,
        event_ts_ms: START_MS,
        recv_ms: 1,
        payload: { bids: FIRST.bids, asks: FIRST.asks },
      }),
    ],
  ];

  test.each(cases)('%s is recognised and read', async (_, line) => {
    expect(venueFrames().recognises(sampleOf('PONG', line))).toBe(true);
    const { up, reasons, sink } = await read([['PONG', line]]);
    expect({ up, reasons }).toEqual({ up: [FIRST_SEEN], reasons: [] });
    expect(sink.items).toHaveLength(1);
  });

  test('with levels as pairs has the hash of its levels', async () => {
    const { notes } = await read([[{ ...FIRST, bids: BIDS, asks: ASKS, hash: venueHash(FIRST) }]]);
    expect(notes[0]).toContain('1 of 1 book hashes verified');
  });

  test('of an array may be on the line where the array begins', async () => {
    const { up, reasons } = await read([[`[${json(FIRST)},`, json(change(10, buy('0.1', '1'))), ']']]);
    expect(reasons).toEqual([]);
    expect(up).toHaveLength(2);
  });

  test.each([
    ['heartbeats alone', ['PONG', 'PING']],
    ['a record of another format', [json({ type: 'snapshot', bids: [], asks: [], assetId: UP_ASSET })]],
    ['a message of an unknown type', [json({ event_type: 'order', market: CONDITION_ID })]],
    ['words', ['hello', '"world"', '17']],
  ] as const)('%s make no capture', (_, lines) => {
    expect(venueFrames().recognises(sampleOf(...lines))).toBe(false);
  });

  test('of one event type names only its asset', async () => {
    const { up, reasons } = await read([
      [
        { slug: 'x', asset_id: UP_ASSET, event_ts_ms: START_MS, payload: { bids: FIRST.bids, asks: FIRST.asks } },
        {
          slug: 'x',
          event_ts_ms: START_MS + 5,
          payload: { price_changes: [{ asset_id: UP_ASSET, ...buy('0.48', '0'), best_bid: '0.4', best_ask: '0.52' }] },
        },
      ],
    ]);
    expect(reasons).toEqual([]);
    expect(up).toEqual([FIRST_SEEN, seen(5, '0.4:10', '0.52:7.25 0.6:5')]);
  });
});

describe('changes', () => {
  const entry = { price: '0.49', side: 'BUY', size: '12.5' };
  const head = { asset_id: UP_ASSET, event_type: 'price_change', market: CONDITION_ID, timestamp: at(7) };

  test.each([
    ['present', change(7, buy('0.49', '12.5'))],
    ['former', { ...head, hash: 'ab', changes: [entry] }],
    ['first', { ...head, hash: 'ab', ...entry }],
  ] as const)('in their %s shape set the size at a price', async (_, frame) => {
    const { up } = await read([[FIRST, frame]]);
    expect(up).toEqual([FIRST_SEEN, seen(7, '0.49:12.5 0.48:30 0.4:10', '0.52:7.25 0.6:5')]);
  });

  test('a size of 0 removes a level, a repeated size changes nothing, and each asset has its own book', async () => {
    const { up, down, sink } = await read([
      [
        FIRST,
        book(0, '0.3:1', '', { asset_id: DOWN_ASSET }),
        change(1, sell('0.52', '0'), { ...sell('0.9', '4'), asset: DOWN_ASSET }),
        change(2, buy('0.4', '10')),
      ],
    ]);
    expect(up).toEqual([FIRST_SEEN, seen(1, '0.48:30 0.4:10', '0.6:5')]);
    expect(down).toEqual([seen(0, '0.3:1', ''), seen(1, '0.3:1', '0.9:4')]);
    expect(sink.items.map(({ added, finished }) => [added, finished])).toEqual([
      [1, 0],
      [1, 0],
      [2, 0],
      [0, 1],
    ]);
  });

  test('all of one timestamp make one snapshot, a full book last, in any order of arrival', async () => {
    const later = book(5, '0.48:31', ASKS);
    const { up, gaps, sink } = await read([
      [FIRST, later, change(5, buy('0.48', '99')), change(5, buy('0.48', '31')), change(5, buy('0.4', '0'))],
    ]);
    expect(up).toEqual([FIRST_SEEN, seen(5, '0.48:31', '0.52:7.25 0.6:5')]);
    expect(gaps).toEqual([]);
    expect(sink.items.every(({ added }) => added === 1)).toBe(true);
  });

  test('that lead back to the same book within one timestamp make no snapshot', async () => {
    const { up } = await read([[FIRST, change(5, buy('0.48', '99')), change(5, buy('0.48', '30'))]]);
    expect(up).toEqual([FIRST_SEEN]);
  });

  test('A change before the first book of its asset is rejected, unless that book follows at once and contains it.', async () => {
    const followed = await read([[change(-5, buy('0.48', '30')), FIRST]]);
    expect(followed.reasons).toEqual([]);
    expect(followed.up).toEqual([FIRST_SEEN]);
    const alone = await read([[change(-2500, buy('0.48', '30')), change(-5, buy('0.48', '30')), FIRST]]);
    expect(alone.reasons).toEqual(['the change is before the first book of this asset']);
  });
});

describe('rejected messages', () => {
  const unknown = `0x${'77'.repeat(32)}`;
  const cases: readonly (readonly [string, unknown, string, RegExp])[] = [
    ['a line that is not JSON', '{"event_type":"book"', 'unknown', /^the line is not JSON$/],
    ['a frame that is not JSON', { payload: '{"event_type":' }, 'unknown', /^the frame in the line is not JSON$/],
    ['a number as a frame', { payload: '17' }, 'unknown', /not a JSON object/],
    ['an unknown type', { ...FIRST, event_type: 'order' }, 'unknown', /^event_type "order" is not a known message/],
    ['an unknown object', { hello: 1 }, 'unknown', /^the object is neither/],
    ['a book without bids', { ...FIRST, bids: undefined }, 'book', /^bids is missing/],
    ['a book with a price twice', book(0, '0.4:1 0.4:2', ''), 'book', /^bids has the price 0.4 twice$/],
    ['a book without a time', { ...FIRST, timestamp: undefined }, 'book', /^timestamp is missing/],
    ['a time in seconds', { ...FIRST, timestamp: '1776323400' }, 'book', /looks like Unix seconds/],
    ['a change beyond 1', change(1, buy('1.5', '1')), 'price_change', /^price 1.5 lies outside 0…1$/],
    ['a change of no size', change(1, buy('0.5', '-1')), 'price_change', /^size -1 is negative$/],
    [
      'a change with a size of too many digits',
      change(1, buy('0.5', '1.2345678901234567')),
      'price_change',
      /15 significant digits/,
    ],
    [
      'a change of no side',
      change(1, { ...buy('0.5', '1'), side: 'HOLD' as 'BUY' }),
      'price_change',
      /^side is neither BUY nor SELL$/,
    ],
    ['no changes', change(1), 'price_change', /^the message has no changes$/],
    [
      'a trade without a price',
      message('last_trade_price', 1, { price: '' }),
      'last_trade_price',
      /^price {2}is not a decimal/,
    ],
    ['a missing tick', message('tick_size_change', 1), 'tick_size_change', /^new_tick_size is missing$/],
    ['missing best prices', message('best_bid_ask', 1), 'best_bid_ask', /^best_bid and best_ask are missing$/],
    [
      'an unknown market',
      { ...FIRST, market: unknown, asset_id: '77' },
      'book',
      /^market 0x7{64} is unknown: import its market record first, or name a file with it \(--markets\)$/,
    ],
    ['an asset of another market', { ...FIRST, market: unknown }, 'book', /belongs to market 0xab12.*, not to 0x77/],
    [
      'an asset that is neither up nor down',
      { ...FIRST, asset_id: '77' },
      'book',
      /^asset 77 is neither 98.* \(up\) nor 10.* \(down\)/,
    ],
    ['a missing winner', message('market_resolved', 1), 'market_resolved', /is up or down$/],
    [
      'a winner that contradicts itself',
      message('market_resolved', 1, { winning_outcome: 'Up', winning_asset_id: DOWN_ASSET }),
      'market_resolved',
      /not the same outcome$/,
    ],
  ];

  test.each(cases)('%s', async (_, frame, kind, reason) => {
    const line = typeof frame === 'string' ? frame : json(frame);
    const { sink, reasons } = await read([[FIRST, line, change(9, buy('0.48', '31'))]]);
    const [rejected, ...others] = sink.items.filter((item) => item.reasons.length > 0);
    expect(others).toEqual([]);
    expect({ kind: rejected?.kind, line: rejected?.line }).toEqual({ kind, line: 2 });
    expect(reasons[0]).toMatch(reason);
    // The messages around it are stored.
    expect(snapshotsOf(sink.records, 'up')).toHaveLength(2);
  });

  test('one bad change of a message does not affect the others', async () => {
    const { up, reasons } = await read([[FIRST, change(1, buy('0.5', 'many'), buy('0.49', '1'))]]);
    expect(up.at(-1)).toEqual(seen(1, '0.49:1 0.48:30 0.4:10', '0.52:7.25 0.6:5'));
    expect(reasons).toHaveLength(1);
  });

  test('numbers that a double would round are rejected, not rounded', async () => {
    const line = json(change(1, buy('0.5', 'SIZE'))).replace('"SIZE"', '0.30000000000000000001');
    const { reasons } = await read([[FIRST, line]]);
    expect(reasons[0]).toMatch(/^size 0.30000000000000000001 is not a decimal/);
  });
});

describe('frames without records', () => {
  test.each([
    ['PONG', 'PONG'],
    ['ping', 'PING'],
    [json({ payload: 'PONG' }), 'PONG'],
    ['[]', 'empty frame'],
    ['{}', 'empty frame'],
    [json({ payload: '' }), 'empty frame'],
    [json({ type: 'market', assets_ids: [UP_ASSET], initial_dump: true }), 'market'],
    [json({ operation: 'subscribe', assets_ids: [UP_ASSET] }), 'subscribe'],
    [json({ type: 'subscriptions', channels: [] }), 'subscriptions'],
  ])('%s is ignored as %s', async (line, name) => {
    const { sink } = await read([[FIRST, line]]);
    expect(sink.ignored).toEqual({ [name]: 1 });
    expect(sink.counts()).toEqual({ book: { read: 1, rejected: 0 } });
  });

  test('prices of coins among the frames become coin prices', async () => {
    const { sink } = await read([
      [FIRST, { stream: 'btcusdt@trade', data: { e: 'trade', s: 'BTCUSDT', p: '76177.85000000', T: START_MS } }],
    ]);
    expect(sink.recordsOf('coinPrice')).toMatchObject([{ symbol: 'btc', source: 'binance', price: 76177.85 }]);
  });
});

test('A trade becomes a price, and best_bid_ask, which has no sizes, is compared with the book and not stored.', async () => {
  const { sink, notes } = await read([
    [
      FIRST,
      message('last_trade_price', 3, { price: '0.52', size: '3', side: 'BUY' }),
      message('best_bid_ask', 4, { best_bid: '0.48', best_ask: '0.52' }),
      message('best_bid_ask', 5, { best_bid: '0.49', best_ask: '0.52' }),
      message('tick_size_change', 6, { old_tick_size: '0.01', new_tick_size: '0.001' }),
      change(7, buy('0.485', '1')),
    ],
  ]);
  expect(sink.recordsOf('price')).toEqual([
    {
      type: 'price',
      kind: 'trade',
      conditionId: CONDITION_ID,
      outcome: 'up',
      assetId: UP_ASSET,
      timestampMs: START_MS + 3,
      id: undefined,
      price: 0.52,
      trade: { size: 3, side: 'buy', feeRateBps: undefined, transactionHash: undefined },
    },
  ]);
  expect(sink.items.map(({ kind, finished }) => [kind, finished]).slice(2, 5)).toEqual([
    ['best_bid_ask', 1],
    ['best_bid_ask', 1],
    ['tick_size_change', 1],
  ]);
  expect(notes[0]).toEndWith('1 of 2 stated best prices differ from the rebuilt book');
  // The tick changes, the book continues.
  expect(snapshotsOf(sink.records, 'up').at(-1)?.bids[0]).toEqual([0.485, 1]);
});

test.each([
  ['before', true],
  ['after', false],
])('The first changes in the millisecond of another tick are proved, %s it.', async (_, isBefore) => {
  const whole = (offsetMs: number, size: string, tick: string) =>
    venueHash(book(offsetMs, `0.4:10 0.48:${size}`, ASKS), { tick });
  const first = { ...FIRST, tick_size: '0.01', last_trade_price: '', hash: venueHash(FIRST) };
  const tick = message('tick_size_change', 5, { old_tick_size: '0.01', new_tick_size: '0.001' });
  const { sink, gaps, notes } = await read([
    [
      first,
      ...(isBefore ? [] : [tick]),
      change(5, { ...buy('0.48', '31'), hash: whole(5, '31', isBefore ? '0.01' : '0.001') }),
      ...(isBefore ? [tick] : []),
      ...[6, 7].map((ms) => change(ms, { ...buy('0.48', `3${ms}`), hash: whole(ms, `3${ms}`, '0.001') })),
    ],
  ]);
  expect(gaps).toEqual([]);
  expect(snapshotsOf(sink.records, 'up')).toHaveLength(4);
  expect(notes[0]).toContain('3 of 3 checked hashes of changes verified');
});

describe('markets in the stream', () => {
  const announcement = {
    event_type: 'new_market',
    id: '2103900',
    market: CONDITION_ID,
    slug: 'btc-updown-5m-1776323400',
    assets_ids: [DOWN_ASSET, UP_ASSET],
    outcomes: ['Down', 'Up'],
    event_message: { id: '427637' },
    timestamp: at(-86_000_000),
  };

  test('an announced one is known from then on, with its assets by their labels', async () => {
    const { sink, up, reasons } = await read([[FIRST, announcement, FIRST]], { isKnown: false });
    expect(sink.recordsOf('market')).toEqual([
      {
        type: 'market',
        statement: {
          ...MARKET.statement,
          ...{ marketId: '2103900', eventId: '427637' },
          ...{ createdMs: START_MS - 86_000_000, statedMs: START_MS - 86_000_000 },
        },
      },
    ]);
    expect(reasons).toHaveLength(1);
    expect(up).toEqual([FIRST_SEEN]);
  });

  test('one of another type is skipped, an invalid one is rejected', async () => {
    const { sink, reasons } = await read([
      [FIRST, { ...announcement, slug: 'will-it-rain' }, { ...announcement, outcomes: ['Yes', 'No'] }],
    ]);
    expect(sink.ignored).toEqual({ 'new_market of another market type': 1 });
    expect(reasons).toEqual(['outcomes is not up and down']);
  });

  test.each([
    [{ winning_outcome: 'Down' }],
    [{ winning_asset_id: DOWN_ASSET }],
    [{ winning_outcome: 'Down', winning_asset_id: DOWN_ASSET }],
  ])('a resolved one has its winner: %j', async (fields) => {
    const resolved = { event_type: 'market_resolved', market: CONDITION_ID, timestamp: at(320_000), ...fields };
    const { sink } = await read([[FIRST, resolved]]);
    expect(sink.recordsOf('market')).toEqual([
      {
        type: 'market',
        statement: { ...MARKET.statement, winner: 'down', closed: true, resolvedMs: START_MS + 320_000 },
      },
    ]);
    const { reasons } = await read([[resolved]], { isKnown: false });
    expect(reasons[0]).toStartWith(`market ${CONDITION_ID} is unknown`);
  });

  test('one that is resolved but was not announced is created from the message', async () => {
    const resolved = {
      ...{ ...announcement, event_type: 'market_resolved', timestamp: at(320_000) },
      ...{ winning_asset_id: DOWN_ASSET, winning_outcome: 'Down' },
    };
    const { sink, reasons, up } = await read(
      [[resolved, FIRST, { ...resolved, slug: 'will-it-rain', market: '0x99' }]],
      {
        isKnown: false,
      },
    );
    expect(reasons).toEqual([]);
    expect(up).toEqual([FIRST_SEEN]);
    expect(sink.ignored).toEqual({ 'market_resolved of another market type': 1 });
    const settled = { winner: 'down', closed: true, resolvedMs: START_MS + 320_000 } as const;
    const ids = { marketId: '2103900', eventId: '427637', statedMs: settled.resolvedMs };
    const statement = { ...MARKET.statement, ...ids, ...settled };
    expect(sink.recordsOf('market')).toEqual([{ type: 'market', statement }]);
  });

  test('a message about one with unknown assets is rejected with what is missing', async () => {
    using place = temporaryArchive();
    const sink = new KeepingSink(place.archive);
    sink.markets.addStatement({ ...MARKET.statement, clobTokenIds: ['0', '0'] });
    await readAll(venueFrames(), sink, [[json(FIRST)]]);
    expect(sink.reasons()).toEqual([
      `no recording states whether asset ${UP_ASSET} of market ${CONDITION_ID} is up or down: import its market record first, or name a file with it (--markets)`,
    ]);
  });
});

describe('a recorded book that differs from the rebuilt one', () => {
  const OTHER = book(50, '0.47:1', ASKS);

  test('A recorded book that differs from the rebuilt one replaces it, and a gap begins at the last time when both were equal.', async () => {
    const { up, gaps, sink } = await read([
      [
        FIRST,
        book(10, BIDS, ASKS),
        change(20, buy('0.47', '2')),
        OTHER,
        change(60, buy('0.47', '3')),
        book(70, '0.47:3', ASKS),
      ],
    ]);
    expect(gaps).toEqual([
      { from: 10, to: 50, reason: 'the recorded book of up differs from the changes before it in 3 levels' },
    ]);
    expect(bestBids(up)).toBe('0 0.48:30, 20 0.48:30, 50 0.47:1, 60 0.47:3');
    expect(sink.items[3]).toMatchObject({ kind: 'book', added: 1 });
  });

  test('several in a row open one gap', async () => {
    const { gaps } = await read([
      [
        FIRST,
        change(10, buy('0.1', '1')),
        OTHER,
        change(60, buy('0.2', '1')),
        book(90, '0.4:3', ASKS),
        book(95, '0.4:3', ASKS),
      ],
    ]);
    expect(gaps).toEqual([
      { from: 0, to: 90, reason: '2 consecutive recorded books of up differ from the changes before them' },
    ]);
  });

  test('after an equal one opens another gap', async () => {
    const { gaps } = await read([
      [
        FIRST,
        change(10, buy('0.1', '1')),
        OTHER,
        book(60, '0.47:1', ASKS),
        change(70, buy('0.47', '2')),
        book(80, BIDS, ASKS),
      ],
    ]);
    expect(gaps.map(({ from, to }) => [from, to])).toEqual([
      [0, 50],
      [60, 80],
    ]);
  });

  test('opens a gap that says so when no change was recorded in between', async () => {
    const { gaps } = await read([[FIRST, OTHER, change(60, buy('0.1', '1'))]]);
    expect(gaps).toEqual([
      { from: 0, to: 50, reason: 'the book of up changed in 3 levels, and no change was recorded' },
    ]);
  });

  test('A recorded book with the hash of the rebuilt one but other levels is damaged: it is rejected and opens no gap.', async () => {
    const right = book(50, '0.4:10 0.48:31', ASKS);
    const damaged = book(50, '0.4:10 0.48:13', ASKS, { hash: venueHash(right, { lastTrade: '0.130' }) });
    const { gaps, reasons, up } = await read([
      [FIRST, change(50, buy('0.48', '31')), damaged, change(60, buy('0.48', '32'))],
    ]);
    expect(reasons).toEqual(['the book is damaged: its hash does not match its levels']);
    expect(gaps).toEqual([]);
    expect(bestBids(up)).toBe('0 0.48:30, 50 0.48:31, 60 0.48:32');
  });

  test('with everything that its hash depends on is rejected when the hash does not match, and opens a gap', async () => {
    const stated = {
      tick_size: '0.01',
      min_order_size: '5',
      neg_risk: false,
      last_trade_price: '',
      event_type: undefined,
    };
    const first = { ...FIRST, ...stated, hash: venueHash(FIRST) };
    const damaged = { ...book(50, '0.4:10', ASKS), ...stated, hash: 'f'.repeat(40) };
    const { gaps, reasons, notes } = await read([
      [first, damaged, change(60, buy('0.48', '31')), book(70, '0.4:10 0.48:31', ASKS)],
    ]);
    expect(reasons).toEqual(['the book is damaged: its hash does not match its levels']);
    expect(gaps).toEqual([{ from: 0, to: 70, reason: 'a recorded book of up is damaged' }]);
    expect(notes[0]).toContain('1 of 2 book hashes verified, 1 books damaged');
  });

  test.each([
    ['best level first', { bids: BIDS.toReversed(), asks: ASKS.toReversed() }],
    [
      'with figures of their own',
      { bids: BIDS.map(([price, size]) => [Number(price), Number(size)] as const), asks: ASKS },
    ],
  ])(
    'is not damaged because a recorder wrote it %s, among others that are as the venue wrote them',
    async (_, sides) => {
      const tail = { tick_size: '0.01', min_order_size: '5', neg_risk: false, last_trade_price: '' };
      const whole = book(50, BIDS, ASKS, tail);
      const rows = (side: readonly (readonly [string | number, string | number])[]) =>
        side.map(([price, size]) => ({ price, size }));
      const rewritten = {
        ...{ ...whole, bids: rows(sides.bids), asks: rows(sides.asks), hash: venueHash(whole) },
        ...{ market: CONDITION_ID.toUpperCase().replace('X', 'x'), timestamp: START_MS + 50 },
      };
      const { notes, reasons, gaps } = await read([[{ ...FIRST, ...tail, hash: venueHash(FIRST) }, rewritten]]);
      expect(reasons).toEqual([]);
      expect(gaps).toEqual([]);
      expect(notes[0]).toContain('2 of 2 book hashes verified, 0 books damaged');
    },
  );

  test('has a hash that is verified although the last trade was not recorded', async () => {
    const verified = book(50, BIDS, ASKS, {
      hash: venueHash(book(50, BIDS, ASKS), { lastTrade: '0.130', tick: '0.001' }),
    });
    const { notes, gaps } = await read([[FIRST, change(20, buy('0.48', '30')), verified]]);
    expect(notes[0]).toContain(
      '1 of 1 later recorded books equal the book rebuilt from the changes; 1 of 1 book hashes verified',
    );
    expect(gaps).toEqual([]);
  });
});

describe('full books without changes', () => {
  const withoutType = (frame: Frame): Frame => ({ ...frame, event_type: undefined });
  const BOOKS = [FIRST, book(5000, '0.47:1', ASKS), book(9000, '0.47:1', ASKS), book(9000, '0.46:1', ASKS)];

  test.each([
    ['messages', BOOKS],
    ['answers of REST, without event_type', BOOKS.map(withoutType)],
    ['messages among trades', [FIRST, message('last_trade_price', 100, { price: '0.5' }), ...BOOKS.slice(1)]],
  ] as const)('as %s are complete as they are: all are kept, no gap opens', async (_, frames) => {
    const { up, gaps, reasons, sink } = await read([frames]);
    expect({ gaps, reasons }).toEqual({ gaps: [], reasons: [] });
    expect(bestBids(up)).toBe('0 0.48:30, 5000 0.47:1, 9000 0.47:1, 9000 0.46:1');
    const books = sink.items.filter(({ kind }) => kind === 'book');
    expect(books.map(({ added, finished }) => [added, finished])).toEqual(Array(4).fill([1, 0]));
  });

  test('of one outcome are complete although the other one has changes', async () => {
    const down = [book(0, BIDS, ASKS, { asset_id: DOWN_ASSET }), change(10, { ...buy('0.1', '1'), asset: DOWN_ASSET })];
    const { up, gaps } = await read([[...BOOKS, ...down]]);
    expect(gaps).toEqual([]);
    expect(up).toHaveLength(4);
  });

  test('Whole books are complete while no change of their outcome is known, and open gaps once one follows, however late.', async () => {
    const { gaps, sink } = await read([
      [
        ...BOOKS,
        book(12_000, '0.46:1', ASKS),
        book(15_000, BIDS, ASKS),
        book(20_000, BIDS, ASKS),
        change(99_000, buy('0.1', '1')),
      ],
    ]);
    expect(gaps).toEqual([
      { from: 0, to: 5000, reason: 'the book of up changed in 3 levels, and no change was recorded' },
      { from: 12_000, to: 15_000, reason: 'the book of up changed in 3 levels, and no change was recorded' },
    ]);
    expect(sink.reasons()).toEqual([]);
  });

  test('open a gap where one of them is damaged', async () => {
    const stated = { tick_size: '0.01', min_order_size: '5', neg_risk: false, last_trade_price: '' };
    const whole = (frame: Frame) => ({ ...frame, ...stated, hash: venueHash(frame) });
    const damaged = { ...whole(BOOKS[1]!), bids: BOOKS[0]!.bids };
    const { gaps, up, reasons } = await read([[whole(FIRST), damaged, whole(BOOKS[3]!)]]);
    expect(reasons).toEqual(['the book is damaged: its hash does not match its levels']);
    expect(gaps).toEqual([{ from: 0, to: 9000, reason: 'a recorded book of up is damaged' }]);
    expect(bestBids(up)).toBe('0 0.48:30, 9000 0.46:1');
  });

  test('become one snapshot per interval, without gaps', async () => {
    const { up, gaps } = await read([BOOKS], { every: 10_000 });
    expect(gaps).toEqual([]);
    expect(bestBids(up)).toBe('9000 0.46:1');
  });
});

test('full books X, Y, X of one time end on X, even if the messages of two recorders are mixed', async () => {
  const [x, y] = [book(1000, BIDS, ASKS), book(1000, [['0.4', '1']], ASKS)];
  for (const [frames, last] of [
    [[x, y, x], '0.48:30'],
    [[x, y, x, y], '0.4:1'],
  ] as const) {
    const { up } = await read([[...frames]]);
    expect(up).toHaveLength(2);
    expect(bestBids(up).split(', ').at(-1)).toBe(`1000 ${last}`);
  }
});

describe('the hash of a change', () => {
  const grown = (offsetMs: number, size: number) =>
    book(
      offsetMs,
      [
        ['0.4', '10'],
        ['0.48', String(size)],
      ],
      ASKS,
    );
  /** A change per second with the hash of the book after it, or of another book. */
  const changes = (from: number, to: number, isRight: (second: number) => boolean) =>
    Array.from({ length: to - from }, (_, index) => {
      const second = from + index;
      const size = 100 + second;
      const hash = venueHash(grown(second * 1000, isRight(second) ? size : size + 1), { lastTrade: '0.480' });
      return change(second * 1000, { ...buy('0.48', String(size)), hash });
    });

  test('confirms the book, so that a later gap begins there', async () => {
    const { gaps } = await read([[FIRST, ...changes(1, 5, () => true), book(5000, BIDS, ASKS)]]);
    expect(gaps.map(({ from, to }) => ({ from, to }))).toEqual([{ from: 4000, to: 5000 }]);
  });

  test('shows that the book has drifted when no more hash matches, even if no other book is recorded', async () => {
    const { gaps } = await read([[FIRST, ...changes(1, 40, (second) => second < 10)]]);
    expect(gaps).toEqual([
      { from: 9000, to: 39_000, reason: 'the hashes of the changes of up do not match the rebuilt book' },
    ]);
  });

  test('If no order of the changes around it explains the hash of a book, it is left out until a hash matches, and a gap says so.', async () => {
    const { up, gaps } = await read([[FIRST, ...changes(1, 8, (second) => second !== 4 && second !== 5)]]);
    expect(gaps).toEqual([
      { from: 3000, to: 6000, reason: 'the hashes of the changes of up do not match the rebuilt book' },
    ]);
    expect(bestBids(up)).toBe('0 0.48:30, 1000 0.48:101, 2000 0.48:102, 3000 0.48:103, 6000 0.48:106, 7000 0.48:107');
  });

  test('proves nothing if none has ever matched', async () => {
    expect((await read([[FIRST, ...changes(1, 40, () => false)]])).gaps).toEqual([]);
  });

  test('proves nothing if a recorded book equals one that none matched', async () => {
    const last = grown(5000, 104);
    const { up, gaps } = await read([[FIRST, ...changes(1, 5, (second) => second < 3), last]]);
    expect(gaps).toEqual([]);
    expect(bestBids(up)).toBe('0 0.48:30, 1000 0.48:101, 2000 0.48:102, 3000 0.48:103, 4000 0.48:104');
  });
});

describe('messages that arrive late', () => {
  test('are sorted if they are up to two seconds late', async () => {
    const { up, gaps, reasons } = await read([
      [
        FIRST,
        change(2000, buy('0.48', '3')),
        change(2400, buy('0.48', '4')),
        change(501, buy('0.48', '1')),
        change(1500, buy('0.48', '2')),
      ],
    ]);
    expect(reasons).toEqual([]);
    expect(gaps).toEqual([]);
    expect(bestBids(up)).toBe('0 0.48:30, 501 0.48:1, 1500 0.48:2, 2000 0.48:3, 2400 0.48:4');
  });

  test('A change of a book is applied at its own time, however late it arrives.', async () => {
    const frames = [
      FIRST,
      change(700, buy('0.48', '1')),
      change(1000, buy('0.1', '1')),
      change(4000, buy('0.1', '2')),
      change(5000, buy('0.1', '3')),
    ];
    const [first, late, ...others] = frames;
    const { up, gaps, reasons } = await read([[first!, ...others, late!]]);
    expect({ gaps, reasons }).toEqual({ gaps: [], reasons: [] });
    expect(up).toEqual((await read([frames])).up);
  });

  test('A book has at most 10,001 levels a side; a level beyond that is rejected and opens a gap.', async () => {
    const deep = Array.from({ length: LEVELS_MAX - 1 }, (_, index): Level => [((index + 1) / 1e6).toFixed(6), '1']);
    const { up, gaps, reasons } = await read([
      [
        book(0, deep, ''),
        change(10, buy('0.1', '2')),
        change(20, buy('0.11', '2')),
        change(30, buy('0.1', '3')),
        change(40, buy('0.1', '0')),
        change(50, buy('0.11', '4')),
        book(60, BIDS, ASKS),
      ],
    ]);
    expect(reasons).toEqual([
      'the book has the maximum of 10001 levels on this side: the change is left out and opens a gap',
    ]);
    expect(gaps).toEqual([{ from: 0, to: 60, reason: 'a book of up had more than 10001 levels' }]);
    expect(up.map(({ bids }) => bids.length)).toEqual([10_000, 10_001, 10_001, 10_000, 10_001, 2]);
  });

  test('a full book replaces the book of its own time, however late it is', async () => {
    const late = book(500, '0.2:2', '');
    const { up, gaps, reasons } = await read([
      [FIRST, change(1000, buy('0.1', '1')), change(9000, buy('0.1', '2')), late, change(9001, buy('0.1', '3'))],
    ]);
    expect(reasons).toEqual([]);
    expect(gaps).toEqual([
      { from: 0, to: 500, reason: 'the book of up changed in 5 levels, and no change was recorded' },
    ]);
    expect(up[1]).toEqual(seen(500, '0.2:2', ''));
    expect(up.at(-1)).toEqual(seen(9001, '0.2:2 0.1:3', ''));
  });

  test('an earlier recording after a later one gives the same as in the order of time', async () => {
    const changesFrom = (offsetMs: number) =>
      Array.from({ length: 400 }, (_, index) => change(offsetMs + index * 100, buy('0.48', String(index + 1))));
    const later = [book(60_000, BIDS, ASKS), ...changesFrom(60_100)];
    const earlier = [book(0, BIDS, ASKS), ...changesFrom(100)];
    const { sink: _, notes: __, ...inOrder } = await read([earlier, later]);
    expect(await read([later, earlier])).toMatchObject(inOrder);
    expect(inOrder.gaps).toEqual([
      { from: 0, to: 60_000, reason: 'the recorded book of up differs from the changes before it in 1 level' },
    ]);
  });
});

describe('recordings of one market that overlap', () => {
  /** A quiet market: a change every three seconds, and a few books. */
  const quiet = Array.from({ length: 60 }, (_, index) => {
    const bid: Level = ['0.48', String(index + 1)];
    const changed = change(index * 3000, buy(...bid));
    if (index % 25 !== 0) return [changed];
    const whole = book(index * 3000, [bid], ASKS);
    return index === 0 ? [whole] : [changed, whole];
  }).flat();

  test.each([
    [62, 0],
    [3, 0],
    [24, 20],
    [24, 23],
    [24, 1],
    [49, 26],
    [40, 18],
    [58, 57],
    [59, 51],
  ])(
    'A change that another recording already had is a duplicate, however late it comes. (%d, %d)',
    async (end, start) => {
      const whole = await read([quiet]);
      expect(whole.up).toHaveLength(60);
      const parted = await read([quiet.slice(0, end), quiet.slice(start)]);
      expect(parted.reasons).toEqual([]);
      expect(parted.gaps).toEqual([]);
      const distinct = new Map(parted.up.map((snapshot) => [snapshot.timestampMs, snapshot]));
      expect([...distinct.values()].toSorted((a, b) => a.timestampMs - b.timestampMs)).toEqual(whole.up);
    },
  );

  test('the earlier one after the later one, which has no book of its own', async () => {
    const changes = Array.from({ length: 100 }, (_, index) => change(index * 20 + 20, buy('0.48', String(index + 1))));
    // Within the first part messages are out of order, as the venue sends them.
    const [second, first, ...rest] = changes.slice(0, 80);
    const earlier = [FIRST, first!, second!, ...rest];
    const later = changes.slice(80);
    const { up, gaps, reasons } = await read([later, earlier]);
    expect({ gaps, reasons }).toEqual({ gaps: [], reasons: [] });
    expect(up).toEqual((await read([earlier, later])).up);
    expect(up).toHaveLength(101);
  });

  test('a late change from before the first book opens no gap: the book contains it', async () => {
    const shortlyBefore = [change(4000, buy('0.1', '9'))];
    const longBefore = [change(100, buy('0.1', '9'))];
    const present = [book(5000, BIDS, ASKS), change(8000, buy('0.1', '1')), change(12_000, buy('0.1', '2'))];
    expect(await read([present, shortlyBefore])).toMatchObject({ gaps: [], reasons: [] });
    const reasons = ['the change is before the first book of this asset'];
    expect(await read([present, longBefore])).toMatchObject({ gaps: [], reasons });
  });
});

describe('snapshots are made', () => {
  const frames = [
    FIRST,
    change(10, buy('0.48', '1')),
    change(990, buy('0.48', '2')),
    change(995, buy('0.1', '0')),
    change(1000, buy('0.48', '3')),
    change(1999, buy('0.48', '2')),
    change(3500, buy('0.48', '4')),
    change(3600, buy('0.48', '2')),
  ];

  test('of every change', async () => {
    expect(bestBids((await read([frames])).up)).toBe(
      '0 0.48:30, 10 0.48:1, 990 0.48:2, 1000 0.48:3, 1999 0.48:2, 3500 0.48:4, 3600 0.48:2',
    );
  });

  test('once per second, with the last state and the time of the last change, but not of an unchanged book', async () => {
    expect(bestBids((await read([frames], { every: 1000 })).up)).toBe('990 0.48:2');
    expect(bestBids((await read([frames.slice(0, -1)], { every: 1000 })).up)).toBe('990 0.48:2, 3500 0.48:4');
  });

  test('across consecutive files as from one recording', async () => {
    const whole = await read([frames], { every: 500 });
    const parted = await read([frames.slice(0, 3), frames.slice(3, 5), frames.slice(5)], { every: 500 });
    expect(bestBids(parted.up)).toBe(bestBids(whole.up));
  });
});

test('each of many assets keeps its book', async () => {
  using place = temporaryArchive();
  const sink = new KeepingSink(place.archive);
  const assetIds = Array.from({ length: 4098 }, (_, index) => String(1000 + index));
  for (let index = 0; index < assetIds.length; index += 2) {
    const conditionId = `0x${index.toString(16)}`;
    sink.know({
      ...MARKET.statement,
      conditionId,
      slug: `btc-${index}`,
      clobTokenIds: [assetIds[index]!, assetIds[index + 1]!],
    });
  }
  const books = assetIds.map((asset_id, index) => ({
    ...book(0, BIDS, ASKS),
    asset_id,
    market: `0x${(index - (index % 2)).toString(16)}`,
  }));
  const codec = venueFrames();
  const changes = [assetIds[0]!, assetIds.at(-1)!].map((asset) => change(9, { ...buy('0.1', '1'), asset }));
  const withoutMarket = changes.map(({ market: _, ...frame }) => frame);
  await readAll(codec, sink, [[...books, ...withoutMarket].map(json)]);
  expect(sink.reasons()).toEqual([]);
  expect(sink.recordsOf('snapshot')).toHaveLength(assetIds.length + 2);
});

describe('the price of the last trade in a book', () => {
  const HASHED = { hash: venueHash(FIRST, { lastTrade: '0.130' }) };
  const STATED = { tick_size: '0.01', last_trade_price: '0.490' };

  test.each([
    ['that the message states', STATED, 0.49],
    ['that its hash proves', HASHED, 0.13],
    ['that it states, although another one is stated than its hash proves', { ...HASHED, ...STATED }, 0.49],
    ['that it states as a number', { last_trade_price: 0.49 }, 0.49],
    ['"" before the first trade', { ...HASHED, hash: venueHash(FIRST), last_trade_price: '' }, undefined],
    ['"0"', { last_trade_price: '0' }, undefined],
    ['that is no price', { last_trade_price: 'none' }, undefined],
    ['above 1', { last_trade_price: '1.5' }, undefined],
    ['that neither the message nor its hash tells', { hash: 'ab'.repeat(20) }, undefined],
  ] as const)('%s', async (_, fields, price) => {
    const { sink, up } = await read([[{ ...FIRST, ...fields }]]);
    expect(up).toEqual([FIRST_SEEN]);
    expect(sink.records.filter(({ type }) => type === 'lastTradePrice')).toEqual(
      price === undefined
        ? []
        : [
            {
              ...{ type: 'lastTradePrice', conditionId: CONDITION_ID, outcome: 'up', assetId: UP_ASSET },
              ...{ timestampMs: START_MS, id: undefined, price },
            },
          ],
    );
  });

  test('is kept of every book, also of one that changes nothing and of one that comes late, and not of a damaged one', async () => {
    const whole = { min_order_size: '5', tick_size: '0.01', neg_risk: false };
    const stated = (offsetMs: number, price: string) => {
      const frame = book(offsetMs, BIDS, ASKS);
      return { ...frame, ...whole, last_trade_price: price, hash: venueHash(frame, { lastTrade: price }) };
    };
    const { sink, up } = await read([
      [
        ...[stated(0, '0.490'), change(1, buy('0.4', '10')), stated(5, '0.490'), stated(7, '0.500')],
        ...[change(9000, buy('0.4', '11')), stated(6, '0.510'), { ...stated(9001, '0.9'), hash: 'ab'.repeat(20) }],
      ],
    ]);
    const kept = sink.records.flatMap((record) => (record.type === 'lastTradePrice' ? [record] : []));
    expect(kept.map(({ timestampMs, price }) => [timestampMs - START_MS, price]).sort()).toEqual([
      [0, 0.49],
      [5, 0.49],
      [6, 0.51],
      [7, 0.5],
    ]);
    expect(up.map(({ timestampMs }) => timestampMs - START_MS)).toEqual([0, 9000]);
    expect(sink.reasons()).toEqual(['the book is damaged: its hash does not match its levels']);
  });
});
