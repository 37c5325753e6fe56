import { describe, expect, test } from 'bun:test';
import { DomainError } from '../../../src/domain/errors.ts';
import { LEVELS_MAX } from '../../../src/domain/orderbook.ts';
import { parseRecord } from '../../../src/import/codecs/ndjson.ts';
import { parseJsonExactly } from '../../../src/record/exact-json.ts';
import type { RecordedItem } from '../../../src/record/record.ts';
import {
  CONDITION_ID,
  DOWN_ASSET,
  START_MS,
  sampleCoinPrice,
  sampleGap,
  sampleMarket,
  samplePrice,
  sampleQuote,
  sampleSnapshot,
  UP_ASSET,
} from '../../support/sample-records.ts';
import { badValueLines } from '../hostile/hostile-values.ts';

/** The record of a line, as the importer parses it. */
function parseRecordLine(line: string): RecordedItem {
  return parseRecord(parseJsonExactly(line));
}

/** JSON of `record` in which a literal replaces the text "@": JavaScript could not write it that way. */
function withLiteral(record: object, literal: string): string {
  return JSON.stringify(record).replaceAll('"@"', literal);
}

function refusalOf(line: string): string | undefined {
  try {
    parseRecordLine(line);
    return undefined;
  } catch (error) {
    if (error instanceof DomainError && error.kind === 'rejected-record') return error.message;
    throw error;
  }
}

type Type = RecordedItem['type'];

function parsed<T extends Type>(record: object | string, type: T): Extract<RecordedItem, { type: T }> {
  const item = parseRecordLine(typeof record === 'string' ? record : JSON.stringify(record));
  const is = (candidate: RecordedItem): candidate is Extract<RecordedItem, { type: T }> => candidate.type === type;
  if (!is(item)) throw new Error(`a ${item.type} where a ${type} was expected`);
  return item;
}

const level = (price: unknown, size: unknown) => ({ price, size });
const oneBid = (price: unknown, size: unknown) => sampleSnapshot({ bids: [level(price, size)], asks: [] });

function without(record: object, field: string): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== field));
}

describe('a record of each type is parsed as it was written', () => {
  test('market, resolved, with all fields', () => {
    const { statement } = parsed(
      sampleMarket({
        marketId: '1990001',
        eventId: 412,
        active: false,
        closed: true,
        winner: 'up',
        volume: '20313.734402',
        liquidity: 0,
        resolvedAt: '2026-04-16T07:16:11Z',
        priceStart: 76211.8,
        priceEnd: '76220.01',
        createdAt: 1_776_237_000_000,
        updatedAt: '2026-04-16T07:16:12.345Z',
      }),
      'market',
    );
    expect(statement).toEqual({
      conditionId: CONDITION_ID,
      slug: 'btc-updown-5m-1776323400',
      symbol: 'btc',
      timeframe: '5m',
      clobTokenIds: [UP_ASSET, DOWN_ASSET],
      startMs: START_MS,
      endMs: START_MS + 300_000,
      marketId: '1990001',
      eventId: '412',
      active: false,
      closed: true,
      winner: 'up',
      volume: 20313.734402,
      liquidity: 0,
      resolvedMs: START_MS + 371_000,
      priceStart: 76211.8,
      priceEnd: 76220.01,
      createdMs: 1_776_237_000_000,
      updatedMs: START_MS + 372_345,
    });
  });

  test('snapshot', () => {
    expect(parsed(sampleSnapshot({ id: '77', assetId: UP_ASSET }), 'snapshot')).toEqual({
      type: 'snapshot',
      conditionId: CONDITION_ID,
      outcome: 'up',
      timestampMs: START_MS + 4123,
      id: 77,
      assetId: UP_ASSET,
      book: { bidPrices: [0.51, 0.5], bidSizes: [120.5, 30], askPrices: [0.52], askSizes: [7.25] },
      droppedLevels: 0,
      mirrored: false,
    });
  });

  test('quote', () => {
    expect(parsed(sampleQuote({ mid: 0.515, spread: 0.01 }), 'quote').quote).toEqual({
      bidPrice: 0.51,
      bidSize: 120.5,
      askPrice: 0.52,
      askSize: 7.25,
    });
  });

  test('quote without one side, and without both', () => {
    const oneSided = parsed(sampleQuote({ bidPrice: null, bidSize: null }), 'quote').quote;
    expect(oneSided).toEqual({ bidPrice: undefined, bidSize: undefined, askPrice: 0.52, askSize: 7.25 });
    const empty = ['bidPrice', 'bidSize', 'askPrice', 'askSize'].reduce(without, sampleQuote());
    expect(Object.values(parsed(empty, 'quote').quote)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('price', () => {
    expect(parsed(samplePrice(), 'price')).toMatchObject({ kind: 'trade', price: 0.515, outcome: 'up' });
    expect(parsed(samplePrice(), 'price').trade).toBeUndefined();
    const transactionHash = `0x${'aB'.repeat(32)}`;
    const stated = { size: '13.7931', side: 'SELL', feeRateBps: 1000, transactionHash };
    expect(parsed(samplePrice(stated), 'price')).toMatchObject({
      trade: { size: 13.7931, side: 'sell', feeRateBps: 1000, transactionHash: transactionHash.toLowerCase() },
    });
    expect(
      parsed(samplePrice({ ...stated, size: null, side: '', feeRateBps: 0, transactionHash: '' }), 'price'),
    ).toMatchObject({
      trade: { size: undefined, side: undefined, feeRateBps: 0, transactionHash: undefined },
    });
    expect(parsed(samplePrice({ ...stated, kind: 'mid' }), 'price').trade).toBeUndefined();
    expect(parsed(samplePrice({ kind: 'mid', outcome: 'Down' }), 'price')).toMatchObject({
      kind: 'mid',
      outcome: 'down',
    });
  });

  test('coinPrice', () => {
    expect(parsed(sampleCoinPrice({ symbol: 'BTC' }), 'coinPrice')).toEqual({
      type: 'coinPrice',
      symbol: 'btc',
      source: 'chainlink',
      timestampMs: START_MS + 4123,
      id: undefined,
      price: 76211.8,
      trade: undefined,
    });
    expect(parsed(sampleCoinPrice({ size: 0.5, side: 'SELL' }), 'coinPrice')).toMatchObject({
      trade: { size: 0.5, side: 'sell' },
    });
  });

  test('gap', () => {
    expect(parsed(sampleGap(), 'gap')).toEqual({
      type: 'gap',
      conditionId: CONDITION_ID,
      gap: { fromMs: START_MS + 60_000, toMs: START_MS + 90_500, reason: 'recorder restarted' },
    });
  });
});

describe('a market', () => {
  test('needs seven fields; the others are optional', () => {
    const { statement } = parsed(sampleMarket(), 'market');
    const open = [
      'marketId',
      'eventId',
      'active',
      'closed',
      'winner',
      'volume',
      'liquidity',
      'resolvedMs',
      'priceStart',
    ];
    expect(open.map((field) => Object.entries(statement).find(([name]) => name === field)?.[1])).toEqual(
      open.map(() => undefined),
    );
  });

  test('may have its outcomes in the order down, up: asset ids belong to their labels', () => {
    const listed = sampleMarket({ outcomes: ['Down', 'Up'], clobTokenIds: [DOWN_ASSET, UP_ASSET] });
    expect(parsed(listed, 'market').statement.clobTokenIds).toEqual([UP_ASSET, DOWN_ASSET]);
  });

  test('may have unknown assets', () => {
    expect(parsed(sampleMarket({ clobTokenIds: ['0', '0'] }), 'market').statement.clobTokenIds).toEqual(['0', '0']);
  });

  test('has its conditionId and symbol in lower case', () => {
    const shouted = sampleMarket({ conditionId: CONDITION_ID.toUpperCase().replace('X', 'x'), symbol: 'BTC' });
    expect(parsed(shouted, 'market').statement).toMatchObject({ conditionId: CONDITION_ID, symbol: 'btc' });
  });

  test.each(['type', 'conditionId', 'slug', 'symbol', 'timeframe', 'outcomes', 'clobTokenIds', 'startTime', 'endTime'])(
    'is refused without %s',
    (field) => {
      expect(refusalOf(JSON.stringify(without(sampleMarket(), field)))).toContain(field);
      expect(refusalOf(JSON.stringify(sampleMarket({ [field]: null })))).toContain(field);
    },
  );

  test.each(['account', 'billing', 'Coins', 'replays'])(
    'Import refuses the coins account, billing, coins and replays, which are paths of the API. (%s)',
    (symbol) => {
      const refusal = `symbol ${symbol.toLowerCase()} is a path of the API: a coin needs another name`;
      expect(refusalOf(JSON.stringify(sampleMarket({ symbol })))).toContain(refusal);
      expect(refusalOf(JSON.stringify(sampleCoinPrice({ symbol })))).toContain(refusal);
    },
  );
});

describe('Times are cut to milliseconds.', () => {
  const cases: [written: unknown, ms: number][] = [
    ['2026-04-16T07:10:04.123Z', START_MS + 4123],
    [START_MS + 4123, START_MS + 4123],
    [String(START_MS + 4123), START_MS + 4123],
    ['2026-04-16T07:10Z', START_MS],
    ['2026-04-16T09:10:00+02:00', START_MS],
    ['2026-04-16', Date.UTC(2026, 3, 16)],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    [0, 0],
  ];
  test.each(cases)('%p is kept', (timestamp, ms) => {
    expect(parsed(sampleSnapshot({ timestamp }), 'snapshot').timestampMs).toBe(ms);
  });
});

describe('numbers are stored as the decimals that were written', () => {
  const kept: [literal: string, value: number][] = [
    ['0.1', 0.1],
    ['"0.1"', 0.1],
    ['".1"', 0.1],
    ['"0.1000000000000000000000"', 0.1],
    ['0.1000000000000000000000', 0.1],
    ['1e-12', 1e-12],
    ['"1E-12"', 1e-12],
    ['0.000000000001', 1e-12],
    ['999999999999999', 999_999_999_999_999],
    ['"999999999999999"', 999_999_999_999_999],
    ['123.456789012345', 123.456789012345],
    ['1.23456789012e2', 123.456789012],
    ['1e3', 1000],
    ['12345678901234.5', 12_345_678_901_234.5],
  ];
  test.each(kept)('size %s', (literal, value) => {
    const line = withLiteral(oneBid(0.5, '@'), literal);
    expect(parsed(line, 'snapshot').book.bidSizes).toEqual([value]);
  });

  const refused = [
    // More than 12 decimals, or than 15 significant digits.
    '0.0000000000001',
    '"0.0000000000001"',
    '1e-13',
    '1234567890123456',
    '"1234567890123456"',
    '12345678901234567',
    '1234.567890123456',
    '"1234.567890123456"',
    // As doubles these would be other numbers, zero or infinity.
    '0.10000000000000000555',
    '0.30000000000000004',
    '"0.30000000000000004"',
    '9007199254740993',
    '1e-400',
    '1e999',
    '"1e999"',
    '1e15',
    // Other notations.
    '"1."',
    '"01"',
    'null',
    '[1]',
  ];
  test.each(refused)('size %s is refused', (literal) => {
    expect(refusalOf(withLiteral(oneBid(0.5, '@'), literal))).toBeString();
  });

  test.each(['0', '1', '"1"', '0.000000000001', '0.999999999999', '1.000', '1e-4'])('price %s is kept', (literal) => {
    const { book } = parsed(withLiteral(oneBid('@', 1), literal), 'snapshot');
    expect(book.bidPrices).toEqual([Number(literal.replaceAll('"', ''))]);
  });

  test('an asset id is text, however many digits it has', () => {
    expect(parsed(sampleSnapshot({ assetId: UP_ASSET }), 'snapshot').assetId).toBe(UP_ASSET);
    expect(refusalOf(withLiteral(sampleSnapshot({ assetId: '@' }), UP_ASSET))).toBeString();
  });
});

describe('the levels of a book', () => {
  const sorted = { bidPrices: [0.5, 0.4, 0.3], bidSizes: [5, 4, 3], askPrices: [0.6, 0.7, 0.8], askSizes: [6, 7, 8] };
  const bids = [level(0.5, 5), level(0.4, 4), level(0.3, 3)];
  const asks = [level(0.6, 6), level(0.7, 7), level(0.8, 8)];
  const orders: [string, number[]][] = [
    ['best first', [0, 1, 2]],
    ['best last', [2, 1, 0]],
    ['mixed', [1, 0, 2]],
    ['mixed the other way', [1, 2, 0]],
  ];
  test.each(orders)('may come %s and are stored best first', (_, order) => {
    const record = sampleSnapshot({ bids: order.map((i) => bids[i]), asks: order.map((i) => asks[i]) });
    expect(parsed(record, 'snapshot').book).toEqual(sorted);
  });

  test('of size 0 are dropped and counted', () => {
    const record = sampleSnapshot({
      bids: [level(0.5, 5), level(0.45, 0), level(0.4, 4), level(0.3, 3)],
      asks: [level('0.55', '0'), level(0.6, 6), level(0.7, 7), level(0.8, 8), level(0.9, '0.000')],
    });
    const { book, droppedLevels } = parsed(record, 'snapshot');
    expect(book).toEqual(sorted);
    expect(droppedLevels).toBe(3);
  });

  test('may be missing on both sides', () => {
    const { book } = parsed(sampleSnapshot({ bids: [], asks: [] }), 'snapshot');
    expect(book).toEqual({ bidPrices: [], bidSizes: [], askPrices: [], askSizes: [] });
  });

  test('may cross', () => {
    const { book } = parsed(sampleSnapshot({ bids: [level(0.7, 1)], asks: [level(0.6, 2)] }), 'snapshot');
    expect(book).toEqual({ bidPrices: [0.7], bidSizes: [1], askPrices: [0.6], askSizes: [2] });
  });

  const refused: [string, unknown, string][] = [
    ['the same price twice, side by side', [level(0.5, 1), level(0.5, 2)], 'twice'],
    ['the same price twice, apart', [level(0.5, 1), level(0.6, 1), level(0.4, 1), level('0.50', 2)], 'twice'],
    ['no array', { '0.5': 1 }, 'not an array'],
    ['null', null, 'not an array'],
    ['a pair instead of an object', [[0.5, 1]], 'not an object'],
    ['a level without a price', [{ size: 1 }], 'price'],
    ['a level without a size', [{ price: 0.5 }], 'size'],
    ['a negative size', [level(0.5, -1)], 'negative'],
    ['a size 0 at an impossible price', [level(1.5, 0)], 'outside'],
    ['more levels than any book has', Array.from({ length: LEVELS_MAX + 1 }, () => level(0.5, 1)), 'levels'],
  ];
  test.each(refused)('are refused with %s', (_, side, reason) => {
    for (const name of ['bids', 'asks']) {
      const refusal = refusalOf(JSON.stringify(sampleSnapshot({ [name]: side })));
      expect(refusal).toContain(name);
      expect(refusal).toContain(reason);
    }
  });

  test.each(['bids', 'asks'])('are refused without %s', (side) => {
    expect(refusalOf(JSON.stringify(without(sampleSnapshot(), side)))).toContain(side);
  });
});

test('every bad value of the hostile files is rejected, and the reason names the field', () => {
  const lines = badValueLines();
  expect(lines.length).toBeGreaterThan(800);
  for (const { field, raw, line } of lines) {
    const reason = refusalOf(line);
    const where = `${field} ${raw.slice(0, 40)}`;
    expect(reason, where).toBeString();
    // Invalid or too large JSON is rejected as a whole.
    const names = [field, 'the line is not JSON', 'has more digits than can be kept exactly'];
    expect(
      names.some((name) => reason!.includes(name)),
      `${where}: ${reason}`,
    ).toBe(true);
  }
});

describe('rejected, with a reason that names the field', () => {
  const refused: [string, object, string][] = [
    ['an unknown type', sampleSnapshot({ type: 'trade' }), 'type'],
    ['a type in other letters', sampleSnapshot({ type: 'Snapshot' }), 'type'],
    ['no type', without(sampleSnapshot(), 'type'), 'type'],
    ['no conditionId', without(sampleGap(), 'conditionId'), 'conditionId'],
    ['no outcome', without(sampleQuote(), 'outcome'), 'outcome'],
    ['a quote with a size and no price', without(sampleQuote(), 'askPrice'), 'askPrice'],
    ['no kind', without(samplePrice(), 'kind'), 'kind'],
    ['no price', without(samplePrice(), 'price'), 'price'],
    ['a trade of nothing', samplePrice({ size: '0.0' }), 'size'],
    ['a trade of less than nothing', samplePrice({ size: -1 }), 'size'],
    ['a trade on no side', samplePrice({ side: 'both' }), 'side'],
    ['a fee of parts', samplePrice({ feeRateBps: 0.5 }), 'feeRateBps'],
    ['a short transaction', samplePrice({ transactionHash: '0xab' }), 'transactionHash'],
    ['no source', without(sampleCoinPrice(), 'source'), 'source'],
    ['a gap without a reason', without(sampleGap(), 'reason'), 'reason'],
    ['a slug that looks like a conditionId', sampleMarket({ slug: '0xabc' }), 'slug'],
    ['an outcome in an array', sampleSnapshot({ outcome: ['up'] }), 'outcome'],
    ['a kind in an array', samplePrice({ kind: ['mid'] }), 'kind'],
    ['a winner in an array', sampleMarket({ winner: ['up'] }), 'winner'],
  ];
  test.each(refused)('%s', (_, record, field) => {
    expect(refusalOf(JSON.stringify(record))).toContain(field);
  });

  test.each(['[]', '"snapshot"', '1', 'null', 'true'])('%s is not a record', (line) => {
    expect(refusalOf(line)).toBe('the record is not an object');
  });

  test.each(['{', '{"type":"snapshot"', 'type: snapshot', '{"type":"gap"} {"type":"gap"}', "{'type':'gap'}"])(
    '%s is not JSON',
    (line) => {
      expect(refusalOf(line)).toBe('the line is not JSON');
    },
  );
});

describe('A text that a spreadsheet would run as a formula is a rejected record.', () => {
  const reason = 'begins with =, +, -, @, a tab or a carriage return, which spreadsheets run: begin it otherwise';
  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])('%j', (text) => {
    expect(refusalOf(JSON.stringify(sampleGap({ reason: text })))).toBe(`reason ${reason}`);
    expect(refusalOf(JSON.stringify(sampleCoinPrice({ source: text })))).toBe(`source ${reason}`);
    expect(refusalOf(JSON.stringify(sampleMarket({ slug: text })))).toBe(`slug ${reason}`);
  });

  test.each(['a=1', 'recorder-1', 'mail@host', 'a\tb'])('and %j is not', (text) => {
    expect(refusalOf(JSON.stringify(sampleGap({ reason: text })))).toBeUndefined();
    expect(refusalOf(JSON.stringify(sampleCoinPrice({ source: text })))).toBeUndefined();
  });
});

test.each([1_776_323_400, '1776323400'])('An integer that looks like seconds is not a time. (%p)', (timestamp) => {
  expect(refusalOf(JSON.stringify(sampleSnapshot({ timestamp })))).toContain('looks like Unix seconds');
  expect(refusalOf(JSON.stringify(sampleSnapshot({ timestamp: 1000 })))).toBeUndefined();
});
