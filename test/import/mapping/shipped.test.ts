import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mappingChange, readMapping } from '../../../src/cli/mapping-file.ts';
import type { Outcome } from '../../../src/domain/outcome.ts';
import { Importer } from '../../../src/import/importer.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import { priceCodec } from '../../../src/segment/price-segment.ts';
import { quoteCodec } from '../../../src/segment/quote-segment.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, countsOf, marketOf } from '../../support/imported.ts';
import { CONDITION_ID, sampleMarket } from '../../support/sample-records.ts';

const SLUG = 'btc-updown-15m-1766678400';
const START_MS = Date.UTC(2025, 11, 25, 16);
const SET = ['market.coin.value=btc', 'time.zone=America/New_York'];

const changesOf = (set: readonly string[]) =>
  set.reduce<ReturnType<typeof mappingChange>>((before, one) => mappingChange(one, before), []);

/** Imports a file with a shipped mapping and what `--set` states. */
async function importShipped(archive: Archive, name: string, set: readonly string[], file: string, content: string) {
  using directory = temporaryDirectory();
  const path = join(directory.path, file);
  writeFileSync(path, content);
  const mapping = readMapping(name, changesOf(set));
  return await new Importer(archive, { clock: () => NOW_MS, mapping }).run(sourcesOf([path]));
}

function midsOf(archive: Archive, slug: string, outcome: Outcome): (readonly [number, number])[] {
  const slices = archive.prices.slices(marketOf(archive, slug), outcome, 'mid', 0, Number.MAX_SAFE_INTEGER);
  return [...slices]
    .flatMap(({ payload, from, to }) => priceCodec.decode(payload).slice(from, to))
    .map(({ timestampMs, price }) => [timestampMs, price] as const);
}

function quotesOf(archive: Archive, slug: string, outcome: Outcome) {
  return [...archive.quotes.slices(marketOf(archive, slug), outcome, 0, Number.MAX_SAFE_INTEGER)]
    .flatMap(({ payload, from, to }) => quoteCodec.decode(payload).slice(from, to))
    .map(({ timestampMs, quote }) => [timestampMs, quote] as const);
}

test('A key that is set to nothing is removed from the mapping, and nothing else.', () => {
  const changes = mappingChange('market.end=', mappingChange('market.timeframe.value=15m'));
  const {
    name: _name,
    sections,
    market,
    ...others
  } = readMapping('bid-ask-liquidity', [...changesOf(SET), ...changes]);
  const before = readMapping('bid-ask-liquidity', changesOf(SET));
  expect(market).toEqual({ ...before.market, end: undefined, timeframe: { value: '15m' } } as never);
  expect({ sections, ...others }).toMatchObject({ sections: before.sections, format: before.format });
});

test('A key that is not there cannot be removed.', () => {
  expect(() => readMapping('bid-ask-liquidity', mappingChange('market.ende='))).toThrow(
    'remove ende, which the mapping does not have',
  );
});

describe('bid-ask-liquidity', () => {
  const HEADER =
    'Timestamp,TargetTime,Expiration,UpBid,UpAsk,UpMid,UpSpread,UpBidLiquidity,UpAskLiquidity,DownBid,DownAsk,DownMid,DownSpread,DownBidLiquidity,DownAskLiquidity';
  const row = (timestamp: string, up: readonly [string, string], down: readonly [string, string]) =>
    `${timestamp},2025-12-25 16:00:00,2025-12-25 16:15:00,${up.join()},0.575,0.01,1224.11,1357.94,${down.join()},0.405,0.01,1092.92,1260.11`;
  const CONTENT = [
    HEADER,
    row('2025-12-25 11:00:21', ['0.57', '0.58'], ['0.42', '0.43']),
    row('2025-12-25 11:00:22', ['0.575', '0.58'], ['0.0', '0.43']),
    '',
  ].join('\n');

  test('A best price without a size is a quote with an unknown size: bid, ask and spread stay, and one-sided rows count.', async () => {
    using place = temporaryArchive();
    const report = await importShipped(place.archive, 'bid-ask-liquidity', SET, 'market_data_20251225.csv', CONTENT);
    expect(report.rejections).toEqual([]);
    const down = { bidPrice: undefined, bidSize: undefined, askPrice: 0.43, askSize: undefined };
    expect(quotesOf(place.archive, SLUG, 'down')).toEqual([
      [START_MS + 21_000, { ...down, bidPrice: 0.42 }],
      [START_MS + 22_000, down],
    ]);
    expect(midsOf(place.archive, SLUG, 'up')).toEqual([
      [START_MS + 21_000, 0.575],
      [START_MS + 22_000, 0.5775],
    ]);
    expect(midsOf(place.archive, SLUG, 'down')).toEqual([[START_MS + 21_000, 0.425]]);
    expect(marketOf(place.archive, SLUG)).toMatchObject({ symbol: 'btc', timeframe: '15m', startMs: START_MS });
  });

  test.each([
    [[], 'market.coin is not stated: add it, for example coin = { value = "btc" }'],
    [['market.coin.value=btc'], 'time.zone is not stated, and time.format has none: add zone = "UTC"'],
    [['market.coin.value=btc', 'time.zone=Moon'], 'time.zone "Moon" is not a time zone'],
    [[...SET, 'time.zonee=UTC'], 'time.zonee is not a key: did you mean time.zone?'],
  ])('with %j is refused: %s', async (set, problem) => {
    using place = temporaryArchive();
    await expect(importShipped(place.archive, 'bid-ask-liquidity', set, 'a.csv', CONTENT)).rejects.toThrow(problem);
  });
});

test('price-histories give midpoints at whole seconds, of a known market only', async () => {
  const slug = 'btc-updown-5m-1776323400';
  const startSec = 1776323400;
  const points = (...prices: readonly number[]) => prices.map((p, index) => ({ t: startSec + 60 * index, p }));
  const history = (conditionId: string) =>
    JSON.stringify({ condition_id: conditionId, question: '?', up: points(0.5, 0.515), down: points(0.5, 0.485) });
  using place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket()]);
  const content = `${history(CONDITION_ID)}\n${history('0x99')}\n`;
  const report = await importShipped(place.archive, 'price-histories', [], 'prices.jsonl', content);
  expect(countsOf(report.total)).toEqual({ read: 2, stored: 1, duplicate: 0, rejected: 1, ignored: 0 });
  expect(report.missingMarkets).toEqual(['0x99']);
  expect(midsOf(place.archive, slug, 'up')).toEqual([
    [startSec * 1000, 0.5],
    [startSec * 1000 + 60_000, 0.515],
  ]);
  expect(midsOf(place.archive, slug, 'down').map(([, price]) => price)).toEqual([0.5, 0.485]);
});

test('yes-no-books give both books and the market with its assets', async () => {
  const line = {
    ts: START_MS + 1234,
    yes_token_id: '11',
    no_token_id: '22',
    window_start: START_MS,
    window_end: START_MS + 900_000,
    yes: {
      bids: [{ p: 0.57, s: 100.25 }],
      asks: [
        { p: 0.58, s: 3 },
        { p: 0.6, s: 1 },
      ],
    },
    no: { bids: [{ p: '0.42', s: '3' }], asks: [] },
  };
  const set = ['time.unit=ms', 'market.coin.value=bitcoin'];
  using place = temporaryArchive();
  const report = await importShipped(place.archive, 'yes-no-books', set, 'ticks.jsonl', JSON.stringify(line));
  expect(report.rejections).toEqual([]);
  expect(marketOf(place.archive, SLUG)).toMatchObject({ clobTokenIds: ['11', '22'], endMs: START_MS + 900_000 });
  expect(booksOf(place.archive, SLUG, 'up')).toMatchObject([
    {
      timestampMs: START_MS + 1234,
      book: { bidPrices: [0.57], bidSizes: [100.25], askPrices: [0.58, 0.6], askSizes: [3, 1] },
    },
  ]);
  expect(booksOf(place.archive, SLUG, 'down')).toMatchObject([
    { book: { bidPrices: [0.42], bidSizes: [3], askPrices: [] } },
  ]);
});

test('a name that is not shipped is refused, with the one that is nearest', () => {
  expect(() => readMapping('yes-no-book', [])).toThrow("there is no mapping 'yes-no-book': did you mean yes-no-books?");
  expect(() => readMapping('./none', [])).toThrow("'./none' cannot be read: check its path and permissions");
});
