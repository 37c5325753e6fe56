import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { sampleCoinPrice, sampleGap, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const SLUG = sampleMarket().slug;
/** A slug without a year is that of a market of each year. */
const YEARLY = { slug: 'bitcoin-up-or-down-april-16-3am-et', timeframe: '1h' };
const yearly = (year: number, digit: string) =>
  sampleMarket({
    ...YEARLY,
    conditionId: `0x${digit.repeat(64)}`,
    clobTokenIds: [`${digit}1`, `${digit}2`],
    startTime: `${year}-04-16T07:00:00.000Z`,
    endTime: `${year}-04-16T08:00:00.000Z`,
  });

async function filled() {
  const place = temporaryArchive();
  const { total } = await importRecords(place.archive, [
    ...[sampleMarket(), sampleSnapshot(), sampleGap(), sampleCoinPrice()],
    ...[yearly(2025, '4'), yearly(2026, '5')],
  ]);
  if (total.rejected > 0) throw new Error('a record was rejected');
  return place;
}

async function remove(data: string, ...args: string[]) {
  const terminal = captured();
  const code = await run(['delete', ...args, '--data', data], terminal);
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

describe('a deletion is refused', () => {
  test.each<[string, string[], number, RegExp]>([
    ['without a filter', [], 2, /name what to delete with --market, .*, or give --all/],
    ['of the whole archive', ['--coin', 'btc,eth'], 1, /this is the whole archive; add --all/],
    ['A deletion of all markets needs --all, also to count.', ['--before', '2027-01-01', '--dry-run'], 1, /add --all/],
    ['that matches nothing', ['--coin', 'doge'], 1, /nothing matches, .* the coins btc, .* sources chainlink/],
    ['before all records', ['--before', '2020-01-01'], 1, /nothing matches/],
    ['of simulated markets without any', ['--source', 'simulated'], 1, /nothing matches/],
    [
      'of an unknown market',
      ['--market', 'btc-updown-5m-1'],
      1,
      /no market has the conditionId or slug 'btc-updown-5m-1': 'bookreel markets' lists them/,
    ],
    [
      'of a slug of two markets',
      ['--market', YEARLY.slug],
      1,
      /several markets .*: name one of 0x4+ \(2025-.*\), 0x5+ \(2026-/,
    ],
    ['of no coin', ['--coin', ','], 2, /must be a list of coin codes/],
    ['before no instant', ['--before', 'yesterday'], 2, /--before/],
  ])('%s', async (_, args, code, message) => {
    using place = await filled();
    expect(await remove(place.path, ...args)).toMatchObject({ code, stderr: expect.stringMatching(message) });
    expect(place.archive.markets.list('btc', undefined, 10, 0)).toHaveLength(3);
  });

  test('in a directory without an archive, and creates none', async () => {
    using place = temporaryArchive();
    const none = join(place.path, 'none');
    expect(await remove(none, '--all')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no archive'),
    });
    expect(existsSync(none)).toBe(false);
  });
});

test('A deletion asks nothing and prints what it takes, and a dry run deletes nothing.', async () => {
  using place = await filled();
  const { code, stdout, stderr } = await remove(place.path, '--market', SLUG.toUpperCase(), '--dry-run');
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^COIN +MARKETS +FROM \(UTC\) +TO \(UTC\) +RECORDS +COIN PRICES +BYTES$/),
    expect.stringMatching(/^btc +1 +2026-04-16 07:10 +2026-04-16 07:15 +2 +0 +\d+$/),
    '',
  ]);
  expect([code, stderr]).toEqual([0, 'dry run: nothing was deleted\n']);
  const json = JSON.parse((await remove(place.path, '--market', SLUG, '--dry-run', '--json')).stdout);
  expect(json).toMatchObject({ dryRun: true, deleted: null, coins: [{ coin: 'btc', markets: 1, records: 2 }] });
  expect(place.archive.markets.list('btc', undefined, 10, 0)).toHaveLength(3);
});

test('the whole archive is deleted with --all, and a market by its conditionId in any case', async () => {
  using place = await filled();
  const one = await remove(place.path, '--market', sampleMarket().conditionId.toUpperCase().replace('0X', '0x'));
  expect(one).toMatchObject({ code: 0, stderr: '' });
  expect(one.stdout).toContain('1 market with 2 records and 0 coin prices deleted; the database had ');
  expect(await remove(place.path, '--coin', 'BTC', '--all')).toMatchObject({ code: 0, stderr: '' });
  expect(place.archive.recordedCoins.symbols()).toEqual([]);
});
