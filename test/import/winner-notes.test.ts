import { expect, test } from 'bun:test';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleCoinPrice, sampleMarket } from '../support/sample-records.ts';

const END_MS = START_MS + 300_000;
const tick = (timestamp: number, price: number) => sampleCoinPrice({ source: 'chainlink', timestamp, price });
const won = (winner: string, fields = {}) => sampleMarket({ winner, closed: true, ...fields });

const cases: [string, object[], RegExp[]][] = [
  [
    'its own prices say the other outcome',
    [won('up', { priceStart: 100, priceEnd: 99 })],
    [/won by up.*from 100 to 99/],
  ],
  ['its own prices agree, ties counting as up', [won('up', { priceStart: 100, priceEnd: 100 })], []],
  ['one of its prices is missing', [won('up', { priceStart: 100 })], []],
  ['the coin’s prices say the other outcome', [won('down'), tick(START_MS, 100), tick(END_MS, 101)], [/won by down/]],
  ['the coin’s prices agree', [won('up'), tick(START_MS, 100), tick(END_MS, 101)], []],
  ['the coin’s prices are too old to count', [won('down'), tick(START_MS - 60_000, 100), tick(END_MS, 101)], []],
  [
    'the last price before the end is a second old, and the next one agrees',
    [won('up'), tick(START_MS, 100), tick(END_MS - 1000, 99), tick(END_MS + 1000, 101)],
    [],
  ],
  ['it is unresolved', [sampleMarket({ priceStart: 100, priceEnd: 99 })], []],
];
test.each(cases)('an import notes a contradicted winner: %s', async (_, records, wanted) => {
  using place = temporaryArchive();
  const { notes } = await importRecords(place.archive, records);
  expect(notes).toEqual(wanted.map((pattern) => expect.stringMatching(pattern)));
});

test('an import notes a hundred contradicted winners and counts the others', async () => {
  using place = temporaryArchive();
  const markets = Array.from({ length: 130 }, (_, index) =>
    won('up', {
      conditionId: `0x${(index + 1).toString(16)}`,
      slug: `m-${index}`,
      clobTokenIds: ['0', '0'],
      priceStart: 2,
      priceEnd: 1,
    }),
  );
  const { notes } = await importRecords(place.archive, markets);
  expect(notes).toHaveLength(101);
  expect(notes.at(-1)).toContain('30 more markets');
});
