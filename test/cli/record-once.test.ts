import { expect, test } from 'bun:test';
import { lackOf } from '../../src/cli/record.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const SLUG = sampleMarket().slug as string;
const book = (outcome: 'up' | 'down') => sampleSnapshot({ outcome, timestamp: START_MS + 1000 });
const gap = {
  ...{ type: 'gap', conditionId: sampleMarket().conditionId, reason: 'no socket was open' },
  ...{ from: START_MS + 2000, to: START_MS + 3000 },
};

test.each([
  ['nothing', [], `the market ${SLUG} was not recorded`],
  ['a market without books', [sampleMarket()], `no book of up and down of the market ${SLUG} was recorded`],
  ['one outcome', [sampleMarket(), book('down')], `no book of up of the market ${SLUG} was recorded`],
  ['a gap', [sampleMarket(), book('up'), book('down'), gap], `the market ${SLUG} has 1 gap`],
  ['all', [sampleMarket(), book('up'), book('down')], undefined],
] as const)('record --once says what is missing of its window: %s', async (_, records, expected) => {
  using place = temporaryArchive();
  await importRecords(place.archive, records);
  expect(lackOf(place.archive, SLUG)).toEqual(expected);
});
