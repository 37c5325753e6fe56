import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { DomainError } from '../../src/domain/errors.ts';
import type { MarketStatement } from '../../src/domain/market-statement.ts';
import { TIMEFRAMES } from '../../src/domain/timeframe.ts';
import type { ListPosition, StoredMarket } from '../../src/store/markets.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { listMarkets, marketStatement } from '../support/markets.ts';

const RUNS = { seed: 20260416, numRuns: 25 };
const LATER_MS = NOW_MS + 60_000;

/** Puts statements one after another into an empty archive, the clock a minute on each time. */
function putAll(...statements: MarketStatement[]): { market: StoredMarket; changed: boolean }[] {
  using held = temporaryArchive();
  const { database, markets } = held.archive;
  return database.write(() => statements.map((statement, i) => markets.put(statement, NOW_MS + i * 60_000)));
}

const RESOLUTION = {
  active: false,
  closed: true,
  winner: 'up',
  resolvedMs: 1_776_324_000_000,
  priceStart: 76_211.8,
  priceEnd: 76_212,
  volume: 1234.56,
  liquidity: 0,
} as const;

describe('a market record', () => {
  test('A recording that does not state createdAt or updatedAt gets the times when the archive stored and changed the market.', () => {
    const [put] = putAll(marketStatement(1));
    expect(put!.changed).toBe(true);
    expect(put!.market).toEqual({
      ...marketStatement(1),
      key: 1,
      revision: expect.any(Number),
      marketId: '0',
      eventId: '0',
      marketIdMs: undefined,
      eventIdMs: undefined,
      active: true,
      closed: false,
      winner: undefined,
      volume: 0,
      liquidity: 0,
      resolvedMs: undefined,
      priceStart: undefined,
      priceEnd: undefined,
      createdMs: NOW_MS,
      updatedMs: NOW_MS,
      statedUpdatedMs: undefined,
      stated: { active: undefined, closed: undefined, volume: undefined, liquidity: undefined },
    });
  });

  test('that states everything is stored unchanged', () => {
    const full = { ...marketStatement(1), ...RESOLUTION, marketId: '7', eventId: '8', createdMs: 5, updatedMs: 6 };
    const { active, closed, volume, liquidity } = full;
    const stated = { active, closed, volume, liquidity };
    expect(putAll(full)[0]!.market).toEqual({
      ...full,
      key: 1,
      revision: expect.any(Number),
      marketIdMs: 6,
      eventIdMs: 6,
      statedUpdatedMs: 6,
      stated,
    });
  });

  test.each<[string, MarketStatement]>([
    ['with little', marketStatement(1)],
    [
      'with everything',
      { ...marketStatement(1), ...RESOLUTION, marketId: '7', eventId: '8', createdMs: 5, updatedMs: 6 },
    ],
  ])('that comes again %s changes nothing', (_, statement) => {
    const [first, again] = putAll(statement, statement);
    expect(again).toEqual({ market: first!.market, changed: false });
  });

  const cases: [string, Partial<MarketStatement>[], Partial<StoredMarket> & { changed?: boolean }][] = [
    ['resolved after unresolved', [{}, RESOLUTION], { ...RESOLUTION, changed: true, updatedMs: LATER_MS }],
    ['unresolved after resolved', [RESOLUTION, {}], { ...RESOLUTION, changed: false, updatedMs: NOW_MS }],
    [
      'unresolved after resolved, although it has a later time',
      [
        { ...RESOLUTION, updatedMs: 10 },
        { active: true, closed: false, volume: 1, updatedMs: 20 },
      ],
      { ...RESOLUTION, updatedMs: 10 },
    ],
    [
      'resolved after unresolved, although the stored one has only the time of its import',
      [{}, { ...RESOLUTION, updatedMs: 1000 }],
      { ...RESOLUTION, updatedMs: 1000 },
    ],
    [
      'a newer volume',
      [
        { volume: 1, updatedMs: 10 },
        { volume: 2, updatedMs: 20 },
      ],
      { volume: 2, updatedMs: 20 },
    ],
    [
      'an older volume',
      [
        { volume: 2, updatedMs: 20 },
        { volume: 1, updatedMs: 10 },
      ],
      { volume: 2, updatedMs: 20 },
    ],
    [
      'a volume without a time next to one with',
      [{ volume: 1, updatedMs: 10 }, { volume: 2 }],
      { volume: 1, updatedMs: 10 },
    ],
    ['two volumes without a time', [{ volume: 1 }, { volume: 2 }], { volume: 2, updatedMs: LATER_MS }],
    ['two volumes without a time, the larger first', [{ volume: 2 }, { volume: 1 }], { volume: 2, changed: false }],
    [
      'a statement with an old time, although the stored fields are defaults from its import',
      [{}, { volume: 5, liquidity: 7, updatedMs: 1000 }],
      { volume: 5, liquidity: 7, updatedMs: 1000, changed: true },
    ],
    [
      'an older statement that knows more',
      [
        { ...RESOLUTION, priceStart: undefined, updatedMs: 20 },
        { ...RESOLUTION, volume: 1, marketId: '7', updatedMs: 10 },
      ],
      { ...RESOLUTION, marketId: '7', updatedMs: 20, changed: true },
    ],
    ['an id that was not known', [{ marketId: '0' }, { marketId: '7', eventId: '8' }], { marketId: '7', eventId: '8' }],
    [
      'an id that an earlier statement has too',
      [
        { marketId: '7', updatedMs: 20 },
        { marketId: '7', eventId: '8', updatedMs: 10 },
      ],
      { marketId: '7', marketIdMs: 10, eventId: '8', eventIdMs: 10, updatedMs: 20, changed: true },
    ],
    [
      'A market keeps its first marketId and eventId, known from the record that states them.',
      [
        { marketId: '7', eventId: '8', updatedMs: 10 },
        { marketId: '70', eventId: '80', updatedMs: 20 },
      ],
      { marketId: '7', marketIdMs: 10, eventId: '8', eventIdMs: 10, updatedMs: 20 },
    ],
    [
      'an id that is not known any more',
      [{ marketId: '7', eventId: '8' }, { marketId: '0' }],
      { marketId: '7', eventId: '8' },
    ],
    [
      'assets one by one',
      [{ clobTokenIds: ['0', '22'] }, { clobTokenIds: ['11', '0'] }],
      { clobTokenIds: ['11', '22'] },
    ],
    [
      'assets in a stale record',
      [
        { clobTokenIds: ['11', '0'], updatedMs: 20 },
        { clobTokenIds: ['0', '22'], updatedMs: 10 },
      ],
      { clobTokenIds: ['11', '22'] },
    ],
    [
      'assets that are not known any more',
      [{ clobTokenIds: ['11', '22'] }, { clobTokenIds: ['0', '0'] }],
      { clobTokenIds: ['11', '22'], changed: false },
    ],
  ];
  test.each(cases)('%s', (_, said, { changed, ...expected }) => {
    const results = putAll(...said.map((fields) => marketStatement(1, fields)));
    expect(results.at(-1)!.market).toMatchObject(expected);
    if (changed !== undefined) expect(results.at(-1)!.changed).toBe(changed);
  });

  test.each<[string, Partial<MarketStatement>]>([
    ['slug', { slug: 'another' }],
    ['symbol', { symbol: 'eth' }],
    ['timeframe', { timeframe: '1h' }],
    ['startTime', { startMs: 5 }],
    ['endTime', { endMs: 5 }],
    ['winner', { winner: 'down' }],
    ['clobTokenIds', { clobTokenIds: ['99', '12'] }],
    ['clobTokenIds', { clobTokenIds: ['11', '99'] }],
    ['clobTokenIds', { clobTokenIds: ['12', '11'] }],
  ])('that contradicts the held %s is rejected, and changes nothing', (field, said) => {
    using held = temporaryArchive();
    const { database, markets } = held.archive;
    database.write(() => markets.put(marketStatement(1, RESOLUTION), NOW_MS));
    const before = markets.findByConditionId(marketStatement(1).conditionId);
    let thrown: unknown;
    try {
      database.write(() => markets.put(marketStatement(1, said), NOW_MS));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(DomainError);
    expect(thrown).toMatchObject({ kind: 'rejected-record', message: expect.stringContaining(field) });
    expect(markets.findByConditionId(marketStatement(1).conditionId)).toEqual(before);
  });

  test('has another revision once a record of the market was added', () => {
    using held = temporaryArchive();
    const { database, markets } = held.archive;
    const { market } = database.write(() => markets.put(marketStatement(1), NOW_MS));
    database.write(() => markets.touch(market.key));
    const touched = markets.findByConditionId(market.conditionId)!;
    expect(touched.revision).not.toBe(market.revision);
    expect(touched).toEqual({ ...market, revision: touched.revision });
  });
});

describe('lists of markets', () => {
  const statements = fc
    .array(
      fc.record({
        number: fc.integer({ min: 0, max: 1e6 }),
        symbol: fc.constantFrom('btc', 'eth'),
        timeframe: fc.constantFrom(...TIMEFRAMES),
        // Few starts, so that ties are frequent.
        start: fc.integer({ min: 0, max: 6 }),
        listedAhead: fc.integer({ min: 0, max: 2 }),
      }),
      { maxLength: 40 },
    )
    .map((all) => [...new Map(all.map((it) => [it.number, it])).values()])
    .map((all) =>
      all.map(({ number, symbol, timeframe, start, listedAhead }) =>
        marketStatement(number, {
          ...{ symbol, timeframe, startMs: start * 1000, endMs: start * 1000 + 1 },
          createdMs: (start - listedAhead) * 1000,
        }),
      ),
    );

  test('have the latest window first, ties by descending conditionId, and every market on one page', () => {
    fc.assert(
      fc.property(statements, fc.integer({ min: 1, max: 7 }), (all, limit) => {
        using held = temporaryArchive();
        const { database, markets } = held.archive;
        database.write(() => {
          for (const statement of all) markets.put(statement, NOW_MS);
        });
        for (const symbol of ['btc', 'eth', 'sol']) {
          expect(markets.knowsCoin(symbol)).toBe(all.some((it) => it.symbol === symbol));
          for (let asOfMs = -1; asOfMs <= 6001; asOfMs += 1001) {
            const isKnown = all.some(
              (it) => it.symbol === symbol && Math.min(it.startMs, it.createdMs ?? Infinity) <= asOfMs,
            );
            expect(markets.knowsCoin(symbol, asOfMs)).toBe(isKnown);
          }
          for (const timeframe of [undefined, ...TIMEFRAMES]) {
            const expected = all
              .filter((it) => it.symbol === symbol && (timeframe === undefined || it.timeframe === timeframe))
              .sort((a, b) => b.startMs - a.startMs || (a.conditionId < b.conditionId ? 1 : -1))
              .map((it) => it.conditionId);
            const seen: string[] = [];
            for (let skip = 0; skip <= expected.length; skip += limit) {
              const page = listMarkets(markets, symbol, timeframe, limit, skip);
              expect(page.length).toBe(Math.min(limit, expected.length - skip));
              seen.push(...page.map((it) => it.conditionId));
            }
            expect(seen).toEqual(expected);
            // The same in hops.
            let from: ListPosition | undefined;
            for (let rest = expected.length; rest > 0; rest -= limit) {
              const page = listMarkets(markets, symbol, timeframe, limit, 0, from).map((it) => it.conditionId);
              expect(page).toEqual(expected.slice(expected.length - rest).slice(0, limit));
              from = markets.skip(symbol, timeframe, limit, from);
              expect(from?.conditionId).toBe(expected[expected.length - rest + limit - 1]);
            }
          }
        }
      }),
      RUNS,
    );
  });
});

describe('finding a market', () => {
  using held = temporaryArchive();
  const { database, markets } = held.archive;
  const conditionId = `0x${'AbCdEf09'.repeat(8)}`.toLowerCase();
  database.write(() => {
    markets.put(marketStatement(1, { conditionId, slug: 'BTC-Updown-X' }), NOW_MS);
    markets.put(marketStatement(2, { slug: 'repeated', startMs: 1000, endMs: 2000 }), NOW_MS);
    markets.put(marketStatement(3, { slug: 'Repeated', startMs: 9000, endMs: 9900 }), NOW_MS);
    markets.put(marketStatement(4, { slug: 'repeated', startMs: 5000, endMs: 5500 }), NOW_MS);
    markets.put(marketStatement(5, { slug: 'repeated', symbol: 'eth', startMs: 99_000, endMs: 99_900 }), NOW_MS);
  });
  const found = [
    ['its conditionId', 'btc', conditionId],
    ['its conditionId in upper case', 'btc', conditionId.toUpperCase()],
    ['its slug', 'btc', 'BTC-Updown-X'],
    ['its slug in lower case', 'btc', 'btc-updown-x'],
    ['its slug in upper case', 'btc', 'BTC-UPDOWN-X'],
  ].map(([how, symbol, name]) => [how, markets.find(symbol!, name!)?.conditionId] as const);
  const latest = markets.find('btc', 'REPEATED')?.startMs;
  const ofEth = markets.find('eth', 'repeated')?.startMs;
  const missing = [
    ['another coin', markets.find('eth', conditionId)],
    ['a coin in upper case', markets.find('BTC', conditionId)],
    ['part of a conditionId', markets.find('btc', conditionId.slice(0, -1))],
    ['a pattern', markets.find('btc', 'btc-updown-%')],
    ['an empty name', markets.find('btc', '')],
    ['a quote', markets.find('btc', "' OR 1=1 --")],
  ] as const;

  test.each(found)('works by %s', (_, it) => {
    expect(it).toBe(conditionId);
  });

  test('A slug that several markets of a coin share means the latest one.', () => {
    expect([latest, ofEth]).toEqual([9000, 99_000]);
  });

  test.each([
    [999, undefined],
    [1000, 1000],
    [4999, 1000],
    [5000, 5000],
    [8999, 5000],
    [9000, 9000],
  ])('by such a slug as at %d gives the latest that was listed by then', (asOfMs, startMs) => {
    using repeated = temporaryArchive();
    const { database, markets } = repeated.archive;
    database.write(() => {
      for (const [index, ms] of [1000, 9000, 5000].entries()) {
        markets.put(marketStatement(index, { slug: 'Repeated', startMs: ms, endMs: ms + 500 }), NOW_MS);
      }
    });
    expect(markets.find('btc', 'repeated', asOfMs)?.startMs).toBe(startMs);
    expect(markets.find('eth', 'repeated', asOfMs)).toBeUndefined();
    const { conditionId } = markets.find('btc', 'repeated', 9000)!;
    expect(markets.find('btc', conditionId, asOfMs)?.startMs).toBe(asOfMs < 9000 ? undefined : 9000);
  });

  test('Ids that end alike name their own markets, and so do their assets.', () => {
    using held = temporaryArchive();
    const { database, markets } = held.archive;
    const stored = ['1', '2'].map((start) => {
      const statement = marketStatement(Number(start), {
        conditionId: `0x${start}${'0'.repeat(63)}`,
        clobTokenIds: [`${start}1${'0'.repeat(75)}`, `${start}2${'0'.repeat(75)}`],
      });
      return database.write(() => markets.put(statement, NOW_MS)).market;
    });
    for (const market of stored) {
      expect(markets.findByConditionId(market.conditionId)).toEqual(market);
      for (const assetId of market.clobTokenIds) expect(markets.findByAsset(assetId)).toEqual(market);
    }
    expect(markets.findByConditionId(`0x3${'0'.repeat(63)}`)).toBeUndefined();
    expect(markets.findByAsset(`31${'0'.repeat(75)}`)).toBeUndefined();
    const write = (sql: string) => () => database.write(() => database.query(sql).run());
    expect(write('UPDATE markets SET condition_id = (SELECT MIN(condition_id) FROM markets)')).toThrow(
      'another market',
    );
    const columns = database
      .query<Record<string, unknown>, []>('SELECT * FROM markets LIMIT 1')
      .columnNames.filter((name) => name !== 'market_key');
    expect(write(`INSERT INTO markets (${columns}) SELECT ${columns} FROM markets`)).toThrow('another market');
    expect(markets.count('btc')).toBe(2);
  });

  test.each(missing)('by %s fails', (_, it) => {
    expect(it).toBeUndefined();
  });
});

test('A search ignores case, also that of a recorded slug.', () => {
  using held = temporaryArchive();
  const { database, markets } = held.archive;
  database.write(() => markets.put(marketStatement(1, { slug: 'Up_Down.1' }), NOW_MS));
  const filter = { timeframe: undefined, recorded: undefined, closed: undefined, fromMs: 0, toMs: Infinity };
  const found = (search: string) => markets.walk('btc', { ...filter, search }, 2).keys.length;
  expect(['up_down', 'UP_', 'Up_Down.1', 'updown'].map(found)).toEqual([1, 1, 1, 0]);
});
