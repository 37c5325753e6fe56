import { describe, expect, test } from 'bun:test';
import { isStandIn, standInConditionId } from '../../src/domain/stand-in-id.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { listMarkets } from '../support/markets.ts';
import { CONDITION_ID, START_MS, sampleMarket, sampleQuote } from '../support/sample-records.ts';

const SLUG = 'btc-updown-5m-1776323400';
const STAND_IN = standInConditionId(SLUG, START_MS);
const REAL = sampleMarket({ slug: SLUG, startTime: START_MS, marketId: '77' });
const UNNAMED = sampleMarket({ slug: SLUG, startTime: START_MS, conditionId: STAND_IN });
const quoteAt = (second: number, conditionId: string) =>
  sampleQuote({ conditionId, timestamp: START_MS + second * 1000 });

describe('a stand-in for a conditionId', () => {
  test('is the same for every recording of a market, and differs from that of any other market', () => {
    expect(STAND_IN).toMatch(/^0x0{24}[0-9a-f]{40}$/);
    expect(standInConditionId(SLUG.toUpperCase(), START_MS)).toBe(STAND_IN);
    expect(standInConditionId(SLUG, START_MS + 1)).not.toBe(STAND_IN);
    expect(isStandIn(STAND_IN)).toBe(true);
    expect(isStandIn(CONDITION_ID)).toBe(false);
  });

  const orders: [string, object[][]][] = [
    [
      'in a later import',
      [
        [UNNAMED, quoteAt(1, STAND_IN), quoteAt(2, STAND_IN)],
        [REAL, quoteAt(3, CONDITION_ID)],
      ],
    ],
    ['in the same import', [[UNNAMED, quoteAt(1, STAND_IN), REAL, quoteAt(2, STAND_IN), quoteAt(3, CONDITION_ID)]]],
    [
      'before it',
      [
        [REAL, quoteAt(1, CONDITION_ID)],
        [UNNAMED, quoteAt(2, STAND_IN), quoteAt(3, STAND_IN)],
      ],
    ],
    [
      'before it, in the same import',
      [[REAL, quoteAt(1, CONDITION_ID), UNNAMED, quoteAt(2, STAND_IN), quoteAt(3, STAND_IN)]],
    ],
  ];
  test.each(orders)(
    'A market without a conditionId gets a stand-in id, and the real one later replaces it in all records. (arrives %s)',
    async (_, imports) => {
      using place = temporaryArchive();
      for (const records of imports) {
        const report = await importRecords(place.archive, records);
        expect(report.rejections).toEqual([]);
      }
      const { markets, quotes } = place.archive;
      expect(
        listMarkets(markets, 'btc', undefined, 10, 0).map(({ conditionId, marketId }) => [conditionId, marketId]),
      ).toEqual([[CONDITION_ID, '77']]);
      const market = markets.findByConditionId(CONDITION_ID)!;
      const query = { fromMs: 0, toMs: 2e12, order: 'asc', after: undefined, limit: 10 } as const;
      const { records } = quotes.page(quotes.sources(market, ['up']), query);
      expect(records.map(({ timestampMs }) => (timestampMs - START_MS) / 1000)).toEqual([1, 2, 3]);
    },
  );

  test('is the same market in one batch, so that a record of both is stored once', async () => {
    using place = temporaryArchive();
    const records = [UNNAMED, quoteAt(1, STAND_IN), REAL, quoteAt(1, CONDITION_ID), quoteAt(2, CONDITION_ID)];
    const { total } = await importRecords(place.archive, records);
    expect(total).toMatchObject({ stored: 4, duplicate: 1 });
    const { quotes, markets } = place.archive;
    const sources = quotes.sources(markets.findByConditionId(CONDITION_ID)!, ['up']);
    const query = { fromMs: 0, toMs: 2e12, order: 'asc', after: undefined, limit: 10 } as const;
    expect(quotes.page(sources, query).records.map(({ id }) => id)).toEqual([1, 2]);
  });

  test.each(orders)(
    'is replaced %s also if the market of the same slug of the next year is known',
    async (_, imports) => {
      using place = temporaryArchive();
      const yearMs = 365 * 86_400_000;
      const yearAfter = sampleMarket({
        ...{ slug: SLUG, conditionId: '0xab', clobTokenIds: ['71', '72'] },
        ...{ startTime: START_MS + yearMs, endTime: START_MS + yearMs + 300_000 },
      });
      for (const records of [[imports[0]![0]!], [yearAfter], ...imports, [yearAfter]]) {
        expect((await importRecords(place.archive, records)).rejections).toEqual([]);
      }
      const { markets } = place.archive;
      expect(listMarkets(markets, 'btc', undefined, 10, 0).map(({ conditionId }) => conditionId)).toEqual([
        '0xab',
        CONDITION_ID,
      ]);
    },
  );

  test('stays if the record with a real one has another window of the same slug', async () => {
    using place = temporaryArchive();
    const other = sampleMarket({ slug: SLUG, startTime: START_MS + 3_600_000, endTime: START_MS + 3_900_000 });
    await importRecords(place.archive, [UNNAMED, { ...other, clobTokenIds: ['0', '0'] }]);
    expect(listMarkets(place.archive.markets, 'btc', undefined, 10, 0).map(({ conditionId }) => conditionId)).toEqual([
      CONDITION_ID,
      STAND_IN,
    ]);
  });
});
