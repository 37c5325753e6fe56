import { expect, test } from 'bun:test';
import { run } from '../../src/cli/program.ts';
import { lackOf } from '../../src/cli/record.ts';
import { importRecords, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
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

test.each(['btc-updown-5m-4102444801', 'btc-updown-15m-4102445100', 'btc-updown-4h-4102444800', 'a-market'])(
  'record --once refuses a slug whose window is on no grid: %s',
  async (slug) => {
    using place = temporaryDirectory();
    const terminal = captured();
    expect(await run(['record', '--once', slug, '--url', 'http://127.0.0.1:1', '--data', place.path], terminal)).toBe(
      2,
    );
    expect(terminal.stderr()).toContain(`'${slug}' is not the slug of a window, like btc-updown-5m-1776323400`);
  },
);
