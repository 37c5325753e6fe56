import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Packr } from 'msgpackr';
import { allCodecs } from '../../src/import/codecs.ts';
import { openSource } from '../../src/import/opened-source.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { realRecording } from '../support/real-recordings.ts';
import { sampleMarket } from '../support/sample-records.ts';

const FORMATS: readonly (readonly [file: string, format: string | undefined])[] = [
  ['README.md', undefined],
  ['books-5m-parquet/LICENSE', undefined],
  ['books-5m-parquet/markets.jsonl', 'market list'],
  ['books-5m-parquet/markets.ndjson', 'bookreel NDJSON'],
  ['gamma/SOURCE-GUIDE.md', undefined],
  ['gamma/clob_prices_history.json', 'price history'],
  ['gamma/gamma_event_crypto_updown.json', 'Gamma markets'],
  ['gamma/gamma_market_updown.json', 'Gamma markets'],
  ['gamma/resolved-btc-5m-2026-06-08.jsonl.gz', 'Gamma markets'],
  ['gamma/unresolved-sample.jsonl.gz', 'Gamma markets'],
  ['quotes-15m-csv/btc-15m-quotes.csv.gz', 'best-quote CSV'],
  ['sessions-15m/m9-rtds-natural-20260428d/markets.jsonl', 'market list'],
  ['snapshots-1s/btc-updown-5m-1777108200.jsonl', 'one-second snapshots'],
  ['spot/btcusd-chainlink-2026-06-08.csv.gz', 'spot price CSV'],
  ['ws-capture-5m/markets.json', 'market list'],
];
const REAL = realRecording('README.md');

/** All formats that recognise a file, independent of their order. */
async function formatsOf(path: string): Promise<string[]> {
  const { sample } = await openSource({ path, name: path, named: true }, {});
  return allCodecs()
    .filter((codec) => codec.recognises(sample))
    .map(({ format }) => format);
}

test.skipIf(REAL === undefined).each(FORMATS)(
  'the real %s is recognised as %p and nothing else',
  async (file, format) => {
    expect(await formatsOf(realRecording(file)!)).toEqual(format === undefined ? [] : [format]);
  },
);

test.skipIf(REAL === undefined)('no real file is recognised as two formats', async () => {
  const root = join(REAL!, '..');
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  // 213 of them are Parquet of one format.
  const sampled = files.filter(({ name }, index) => !name.endsWith('.parquet') || index % 40 === 0);
  for (const { parentPath, name } of sampled) expect((await formatsOf(join(parentPath, name))).length).toBeLessThan(2);
});

test('records in msgpack are recognised, and every format is named by a test', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'records');
  writeFileSync(path, new Packr({ useRecords: false }).pack(sampleMarket()));
  expect(await formatsOf(path)).toEqual(['bookreel msgpack']);
  const tests = readdirSync(import.meta.dir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const text = tests.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')).join();
  for (const { format } of allCodecs()) expect([format, text.includes(format)]).toEqual([format, true]);
});

const LEVELS = { bids: [['0.5', '10']], asks: [{ price: 0.52, size: 10 }] };
const NAMED = { slug: 'btc-updown-5m-1767868200', conditionId: `0x${'ab'.repeat(32)}` };
const GAMMA = { ...NAMED, endDate: '2026-01-08T10:35:00Z', outcomes: '["Up","Down"]' };
const CLOB = { condition_id: NAMED.conditionId, market_slug: NAMED.slug, tokens: [{ outcome: 'Up', price: 0.5 }] };

test.each<[string, readonly object[], string | undefined]>([
  ['books', [{ ts: 1, ...NAMED, ...LEVELS }], undefined],
  [
    'books, of which the first is empty',
    [
      { ts: 1, ...NAMED, bids: [], asks: [] },
      { ts: 2, ...NAMED, ...LEVELS },
    ],
    undefined,
  ],
  ['books deep in one value', [{ market: NAMED, snapshots: [{ t: 1, up: LEVELS }] }], undefined],
  ['books as maps', [{ ts: 1, ...NAMED, bids: { 0.5: '10' } }], undefined],
  ['trades', [{ ...NAMED, trades: [{ px: '0.5', qty: '1', at: 1 }] }], undefined],
  ['a history of prices', [{ ...GAMMA, history: [{ t: 1767868200, p: 0.5 }] }], undefined],
  ['best prices', [0.5, 0.51].map((bid, at) => ({ at, ...NAMED, bid, ask: 0.52 })), undefined],
  ['best prices deep in values', [0.5, 0.51].map((bid, at) => ({ at, market: NAMED, up: { bid } })), undefined],
  ['books beside what Gamma says', [{ at: 1, ...GAMMA, book: LEVELS }], undefined],
  ['books beside what the CLOB says', [{ at: 1, ...CLOB, book: LEVELS }], undefined],
  ['books as texts', [{ ts: 1, ...NAMED, book: JSON.stringify(LEVELS) }], undefined],
  ['best prices beside what Gamma says', [0.5, 0.51].map((up_bid, at) => ({ at, ...GAMMA, up_bid })), undefined],
  ['best prices around what Gamma says', [0.5, 0.51].map((ask, at) => ({ at, up: { ask }, raw: GAMMA })), undefined],
  [
    'best prices beside the market as a recorder names it',
    [0.5, 0.51].map((best_ask) => ({ slug: NAMED.slug, condition_id: 'x', token_ids: ['1', '2'], best_ask })),
    undefined,
  ],
  [
    'strikes of two markets, as Gamma says them',
    [0.5, 0.51].map((priceToBeat, at) => ({ slug: `xrp-${at}`, markets: [GAMMA], eventMetadata: { priceToBeat } })),
    'Gamma markets',
  ],
  [
    'prices of the outcomes, as a recorder keeps them',
    [0.5, 0.51].map((up) => ({ slug: NAMED.slug, condition_id: 'x', token_ids: ['1', '2'], outcome_prices: { up } })),
    'Gamma markets',
  ],
  ['a delay beside what Gamma says', [0.5, 0.51].map((delay) => ({ delay, ...GAMMA })), 'Gamma markets'],
  ['the same prices of a market twice', [1, 2].map((at) => ({ at, ...NAMED, lastPrice: 0.5 })), 'market list'],
  ['prices of two assets', ['1', '2'].map((assetId) => ({ ...NAMED, assetId, last: `0.${assetId}` })), 'market list'],
  ['other volumes', [7, 8].map((volume) => ({ ...NAMED, volume })), 'market list'],
  ['prices that Gamma says', [0.5, 0.51].map((bestBid) => ({ ...GAMMA, bestBid })), 'Gamma markets'],
  ['prices that the CLOB says', [CLOB, { ...CLOB, tokens: [{ outcome: 'Up', price: 0.6 }] }], 'CLOB markets'],
])(
  'Rows that name a market are a list of markets unless they state books, trades or prices over time: %s',
  async (_, rows, format) => {
    using directory = temporaryDirectory();
    const texts = { lines: rows.map((row) => JSON.stringify(row)).join('\n'), array: JSON.stringify(rows, null, 2) };
    for (const [name, text] of Object.entries(texts)) {
      const path = join(directory.path, `${name}.json`);
      writeFileSync(path, text);
      expect({ name, formats: await formatsOf(path) }).toEqual({ name, formats: format === undefined ? [] : [format] });
    }
  },
);
