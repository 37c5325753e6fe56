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
