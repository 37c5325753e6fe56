import { describe, expect, test } from 'bun:test';
import { generateKey } from '../../src/domain/api-key.ts';
import { dataTypeOf } from '../../src/replay/tardis/data-type.ts';
import {
  CHANNELS,
  DATA_TYPES_MAX,
  LEVELS_REQUESTED_MAX,
  nativeOptionsOf,
  normalizedOptionsOf,
  OPTIONS_MAX,
  speedOf,
} from '../../src/replay/tardis/options.ts';

const WINDOW = { exchange: 'polymarket', from: '2026-04-16', to: '2026-04-17' };
const native = (fields: object) => nativeOptionsOf(JSON.stringify({ ...WINDOW, ...fields }));
const normalized = (fields: object) =>
  normalizedOptionsOf(JSON.stringify({ ...WINDOW, dataTypes: ['trade'], ...fields }));

describe('instants', () => {
  test.each([
    ['2026-04-16', '2026-04-16T00:00:00.000Z'],
    ['2026-04-16T07:10', '2026-04-16T07:10:00.000Z'],
    ['2026-04-16 07:10Z', '2026-04-16T07:10:00.000Z'],
    ['2026-04-16T07:10:04.123Z', '2026-04-16T07:10:04.123Z'],
    ['2026-04-16T09:10:04+02:00', '2026-04-16T07:10:04.000Z'],
    [' 2026-04-16 ', '2026-04-16T00:00:00.000Z'],
  ])('%p is %p', (text, iso) => {
    expect(native({ from: text }).fromMs).toBe(Date.parse(iso));
    expect(native({ from: '2000-01-01', to: text }).toMs).toBe(Date.parse(iso));
    expect(normalized({ from: text })[0]!.fromMs).toBe(Date.parse(iso));
  });

  test('are refused in any other format; to may equal from, but not be earlier', () => {
    for (const value of [undefined, null, '', 'yesterday', '2026-02-30', '2026-04-16T25:00', 1e12, ['2026-04-16']]) {
      expect(() => native({ from: value })).toThrow('from must be');
      expect(() => native({ to: value })).toThrow('to must be');
      expect(() => normalized({ to: value })).toThrow('to must be');
    }
    expect(native({ to: WINDOW.from }).toMs).toBe(Date.parse('2026-04-16'));
    expect(() => native({ to: '2026-04-15' })).toThrow('earlier');
    expect(() => normalized({ to: '2026-04-15' })).toThrow('earlier');
  });
});

describe('options', () => {
  test('are an object, or a list of them', () => {
    for (const text of [undefined, '', 'nonsense', '{', '3', '"a"', 'null', '[3]', '[]']) {
      expect(() => nativeOptionsOf(text)).toThrow('options');
      expect(() => normalizedOptionsOf(text)).toThrow('options');
    }
  });

  test('are of one exchange', () => {
    for (const exchange of [undefined, null, '', 'binance', 'Polymarket', 7]) {
      expect(() => native({ exchange })).toThrow("'polymarket'");
      expect(() => normalized({ exchange })).toThrow("'polymarket'");
    }
  });

  test('of a native replay', () => {
    expect(native({})).toMatchObject({ filters: [], withDisconnects: false, speed: undefined });
    const filters = [
      { channel: 'book', symbols: ['12', '34', '12'] },
      { channel: 'price_change', symbols: [] },
      { channel: 'new_market' },
    ];
    expect(native({ filters, withDisconnects: true, speed: 2, apiKey: 'ignored', skipDecoding: true })).toMatchObject({
      filters: [
        { channel: 'book', assetIds: ['12', '34'] },
        { channel: 'price_change', assetIds: undefined },
        { channel: 'new_market', assetIds: undefined },
      ],
      withDisconnects: true,
      speed: 2,
    });
    for (const channel of CHANNELS) expect(native({ filters: [{ channel }] }).filters[0]!.channel).toBe(channel);
  });

  test.each([
    ['trade', 'filters must be'],
    [{ channel: 'book' }, 'filters must be'],
    [['book'], 'each of filters'],
    [[{}], 'filters[].channel'],
    [[{ channel: 'trades' }], 'filters[].channel'],
    [[{ channel: 'book', symbols: '12' }], 'filters[].symbols'],
    [[{ channel: 'book', symbols: [12] }], 'filters[].symbols'],
    [[{ channel: 'book', symbols: ['btc'] }], 'filters[].symbols'],
    [[{ channel: 'book', symbols: ['1'.repeat(79)] }], 'filters[].symbols'],
  ])('filters %j are refused', (filters, sentence) => {
    expect(() => native({ filters })).toThrow(sentence);
  });

  test('of a normalized replay are one set or several', () => {
    const [one] = normalized({ symbols: ['12'], withDisconnectMessages: true });
    expect(one).toMatchObject({ assetIds: ['12'], dataTypes: [{ kind: 'trade' }], withDisconnects: true });
    const element = { ...WINDOW, dataTypes: ['quote', 'trade'], symbols: [] };
    const all = normalizedOptionsOf(JSON.stringify([element, { ...element, speed: 1 }]));
    expect(all.map(({ assetIds, speed }) => [assetIds, speed])).toEqual([
      [undefined, undefined],
      [undefined, 1],
    ]);
    expect(() => normalizedOptionsOf(JSON.stringify(Array(OPTIONS_MAX + 1).fill(element)))).toThrow('at most');
    expect(() => normalized({ dataTypes: Array(DATA_TYPES_MAX + 1).fill('trade') })).toThrow('at most');
    for (const dataTypes of [undefined, [], 'trade', [7]]) expect(() => normalized({ dataTypes })).toThrow('dataTypes');
    for (const symbols of ['12', [12], ['btc']]) expect(() => normalized({ symbols })).toThrow('symbols');
  });

  test('of book snapshots have a bounded number of levels together', () => {
    const depths = [10_000, LEVELS_REQUESTED_MAX - 10_001, 1];
    const each = depths.map((depth) => ({ ...WINDOW, dataTypes: ['trade', `book_snapshot_${depth}_0ms`] }));
    expect(normalizedOptionsOf(JSON.stringify(each))).toHaveLength(3);
    const one = { ...WINDOW, dataTypes: depths.map((depth) => `book_snapshot_${depth}_0ms`) };
    expect(normalizedOptionsOf(JSON.stringify(one))).toHaveLength(1);
    for (const more of [
      [...each, { ...WINDOW, dataTypes: ['quote'] }],
      { ...one, dataTypes: [...one.dataTypes, 'quote_1s'] },
    ]) {
      expect(() => normalizedOptionsOf(JSON.stringify(more))).toThrow('levels a side together');
    }
  });

  test('have a speed that is a number', () => {
    const speeds = [undefined, undefined, undefined, 0, 1, 1.5, 100_000];
    expect([undefined, null, '', '0', 1, '1.5', 100_000].map(speedOf)).toEqual(speeds);
    for (const speed of ['-1', 'fast', '1e3', '100001', Number.NaN, -1, {}, '0x1']) {
      expect(() => speedOf(speed)).toThrow('speed');
    }
  });
});

describe('data types', () => {
  const snapshot = (depth: number, interval: number, grouping?: number) => ({
    kind: 'book_snapshot',
    depth,
    interval,
    grouping,
  });
  const bar = (barKind: string, interval: number) => ({ kind: 'trade_bar', barKind, interval });

  test.each([
    ['book_snapshot_5_100ms', snapshot(5, 100)],
    ['book_snapshot_25_1s', snapshot(25, 1000)],
    ['book_snapshot_1_2m', snapshot(1, 120_000)],
    ['book_snapshot_10_0ms', snapshot(10, 0)],
    ['book_snapshot_10_grouped0.05_10s', snapshot(10, 10_000, 0.05)],
    ['book_snapshot_10_grouped.05_10s', snapshot(10, 10_000, 0.05)],
    ['quote', snapshot(1, 0)],
    ['quote_10s', snapshot(1, 10_000)],
    ['quote_250ms', snapshot(1, 250)],
    ['trade_bar_10ms', bar('time', 10)],
    ['trade_bar_1s', bar('time', 1000)],
    ['trade_bar_5m', bar('time', 300_000)],
    ['trade_bar_100ticks', bar('tick', 100)],
    ['trade_bar_1000vol', bar('volume', 1000)],
  ])('%s', (name, expected) => {
    expect(dataTypeOf(name)).toEqual({ ...expected, name } as never);
  });

  test.each(['trade', 'book_change', 'book_ticker'])('%s', (kind) => {
    expect(dataTypeOf(kind)).toEqual({ kind } as never);
  });

  test.each([
    ['no such records', ['derivative_ticker', 'liquidation', 'option_summary']],
    ['is not known', ['trades', 'book_snapshot', 'book_snapshot_5', 'book_snapshot_5_1h', 'book_snapshot_x_1s']],
    ['is not known', ['book_snapshot_5_grouped_1s', 'quote_', 'trade_bar_s', 'trade_bar_1h', 'x'.repeat(1000)]],
    ['grouped by 0', ['book_snapshot_5_grouped0_1s']],
    ['levels a side', ['book_snapshot_0_1s', 'book_snapshot_10002_1s']],
    ['must be above 0', ['trade_bar_0s', 'trade_bar_0ticks']],
  ])('%s: %p', (sentence, names) => {
    for (const name of names) expect(() => dataTypeOf(name)).toThrow(sentence);
  });

  test('are not repeated in the refusal: one may be a key by mistake', () => {
    const key = generateKey();
    for (const name of [key, `book_snapshot_${key}`, key.slice(14)]) {
      expect(() => dataTypeOf(name)).toThrow(expect.not.stringContaining(key.slice(14)));
    }
  });
});
