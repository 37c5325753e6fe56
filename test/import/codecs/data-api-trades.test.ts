import { describe, expect, test } from 'bun:test';
import { exported } from '../../export/exported.ts';
import { importRecords, temporaryArchive } from '../../support/archive.ts';
import { countsOf, importFile, marketOf } from '../../support/imported.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, sampleMarket, UP_ASSET } from '../../support/sample-records.ts';

const HASH = `0x${'4'.repeat(64)}`;

/** A trade as the Data API returns it. */
function trade(fields: object = {}) {
  return {
    ...{
      proxyWallet: '0x56',
      side: 'BUY',
      asset: UP_ASSET,
      conditionId: CONDITION_ID,
      size: 18.867923,
      price: 0.5299999953271028,
    },
    ...{
      timestamp: START_MS / 1000 + 7,
      title: 'Bitcoin Up or Down - April 16, 3:10AM',
      slug: 'btc-updown-5m-1776323400',
    },
    ...{ eventSlug: 'btc-updown-5m-1776323400', outcome: 'Up', outcomeIndex: 0, name: '', transactionHash: HASH },
    ...fields,
  };
}
const second = trade({ asset: DOWN_ASSET, outcome: 'Down', side: 'SELL', price: 0.47, size: 5 });
const other = trade({ conditionId: '0x99', asset: '7', slug: 'will-it-rain', outcome: 'Yes' });

function csv(rows: readonly Readonly<Record<string, unknown>>[], columns = Object.keys(rows[0]!)): string {
  const cell = (value: unknown) => (String(value).includes(',') ? `"${value}"` : String(value));
  return [columns.join(','), ...rows.map((row) => columns.map((name) => cell(row[name])).join(','))].join('\n');
}

const STORED = [
  { outcome: 'up', timestamp: '2026-04-16T07:10:07.000Z', price: 0.5299999953271028, size: 18.867923, side: 'buy' },
  { outcome: 'down', timestamp: '2026-04-16T07:10:07.000Z', price: 0.47, size: 5, side: 'sell' },
];

async function storedTrades(archive: Parameters<typeof exported>[0]) {
  const { bytes } = await exported(archive, 'ndjson');
  const records = bytes
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { bytes, trades: records.filter(({ type }) => type === 'price') };
}

describe('a trade of the Data API', () => {
  test.each([
    ['an array', 'trades.json', JSON.stringify([trade(), second], null, 1)],
    ['lines', 'trades.jsonl', [trade(), second].map((row) => JSON.stringify(row)).join('\n')],
    ['CSV', 'trades.csv', csv([trade(), second])],
  ])('A trade of the Data API states its market, and its time in whole seconds. (%s)', async (_, name, text) => {
    using place = temporaryArchive();
    const report = await importFile(place.archive, name, text);
    expect(report.rejections).toEqual([]);
    expect(report.files[0]!.format).toStartWith('Data API trades');
    expect(marketOf(place.archive, 'btc-updown-5m-1776323400')).toMatchObject({
      conditionId: CONDITION_ID,
      clobTokenIds: [UP_ASSET, DOWN_ASSET],
    });
    const { bytes, trades } = await storedTrades(place.archive);
    expect(trades).toMatchObject(STORED.map((one) => ({ ...one, kind: 'trade', transactionHash: HASH })));
    expect((await importFile(place.archive, name, text)).total.stored).toBe(0);
    using again = temporaryArchive();
    expect((await importFile(again.archive, 'export.ndjson', bytes)).rejections).toEqual([]);
    expect((await storedTrades(again.archive)).bytes.equals(bytes)).toBe(true);
  });

  test('needs only the stated columns if its market is known', async () => {
    using place = temporaryArchive();
    await importRecords(place.archive, [sampleMarket()]);
    const columns = ['asset', 'conditionId', 'side', 'size', 'price', 'timestamp', 'outcome', 'transactionHash'];
    expect((await importFile(place.archive, 'trades.csv', csv([trade(), second], columns))).rejections).toEqual([]);
    expect((await storedTrades(place.archive)).trades).toMatchObject(STORED);
  });

  test('of another kind of market is ignored, one of an unknown market without slug is missing its market', async () => {
    using place = temporaryArchive();
    const rows = [other, trade(), trade({ conditionId: '0x88', asset: '8', slug: undefined })];
    const report = await importFile(place.archive, 'trades.json', JSON.stringify(rows));
    expect(countsOf(report.total)).toMatchObject({ read: 2, stored: 1, rejected: 1, ignored: 1 });
    expect(report.rejections[0]!.reason).toContain('market 0x88 is unknown: import its market record first');
    expect(report.missingMarkets).toEqual(['0x88']);
  });

  test.each([
    ['outcome Down contradicts', { outcome: 'Down' }],
    ['price 1.5 lies outside 0…1', { price: 1.5 }],
    ['side is neither buy nor sell', { side: 'HOLD' }],
    ['timestamp is not a time', { timestamp: 'soon' }],
    ['size of a trade is 0', { size: 0 }],
    ['asset is not a string of decimal digits', { asset: 'x' }],
  ])('is rejected if %s, and the others are stored', async (reason, fields) => {
    for (const damaged of [0, 1, 2]) {
      using place = temporaryArchive();
      await importRecords(place.archive, [sampleMarket()]);
      const rows = [1, 2, 3].map((index) => trade({ size: index, ...(index - 1 === damaged ? fields : {}) }));
      for (const [name, text, firstLine] of [
        ['trades.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'), 1],
        ['trades.csv', csv(rows), 2],
      ] as const) {
        const report = await importFile(place.archive, name, text);
        expect(report.rejections).toMatchObject([{ line: damaged + firstLine }]);
        expect(report.rejections[0]!.reason).toContain(reason);
        expect(report.total.stored + report.total.duplicate).toBe(2);
      }
    }
  });
});
