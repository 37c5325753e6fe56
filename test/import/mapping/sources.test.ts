import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { Importer } from '../../../src/import/importer.ts';
import { type Source, sourcesOf } from '../../../src/import/source.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { sampleMarket, sampleSnapshot } from '../../support/sample-records.ts';
import { mappingOf, refusalOfMapping } from './mapped-import.ts';

const SLUG = 'btc-updown-5m-1776323400';
const AT_MS = 1776323405_123;
const TOML = `
  format = "csv"
  time = { field = "ts", unit = "ms" }
  market = { slug = { file_path = '/(btc-updown-[^/]+)/' } }
  [midpoints.up]
  price = "up"`;
const rows = (...prices: readonly number[]) =>
  `ts,up\n${prices.map((price, index) => `${AT_MS + index},${price}\n`).join('')}`;

/** Imports files, by their path in a directory, with the mapping: the directory, or the sources that `select` makes of it. */
async function importFiles(
  files: Readonly<Record<string, string | Uint8Array>>,
  select: (directory: string) => readonly Source[] = (directory) => sourcesOf([directory]),
  toml = TOML,
) {
  using directory = temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory.path, name)), { recursive: true });
    writeFileSync(join(directory.path, name), content);
  }
  using place = temporaryArchive();
  const options = { clock: () => NOW_MS, mapping: mappingOf(toml) };
  return await new Importer(place.archive, options).run(select(directory.path));
}

test('With --map, files of a directory that do not fit the mapping, and the file of --markets, are recognised by their content.', async () => {
  const report = await importFiles({
    [`${SLUG}/1.csv`]: rows(0.5, 0.51),
    [`${SLUG}/2.csv.zst`]: zstdCompressSync(rows(0.5, 0.51, 0.52)),
    [`${SLUG}/notes.csv`]: 'time,note\n1,a\n',
    'markets.ndjson': `${JSON.stringify(sampleMarket())}\n`,
    'records.ndjson': `${JSON.stringify(sampleSnapshot())}\n`,
  });
  expect(report.rejections).toEqual([]);
  expect(report.records).toEqual({ market: 1, price: 3, snapshot: 1 });
  expect(report.files.map(({ format, stored }) => [format, stored])).toEqual([
    ['bookreel NDJSON', 1],
    ['mapping my.toml', 2],
    ['mapping my.toml', 1],
    ['bookreel NDJSON', 1],
  ]);
  expect(report.skipped.map((path) => path.slice(path.lastIndexOf('/') + 1))).toEqual(['notes.csv']);
});

test('a named file is read by the mapping, market records by their content', async () => {
  const report = await importFiles(
    { [`${SLUG}/1.csv`]: rows(0.5), 'm.ndjson': `${JSON.stringify(sampleMarket())}\n` },
    (directory) => [
      ...sourcesOf([join(directory, 'm.ndjson')]).map((source) => ({ ...source, byContent: true as const })),
      ...sourcesOf([join(directory, SLUG, '1.csv')]),
    ],
  );
  expect(report.records).toEqual({ market: 1, price: 1 });
});

test('a named file that the mapping does not fit is not read', async () => {
  const { files, records } = await importFiles(
    { 'records.ndjson': `${JSON.stringify(sampleMarket())}\n` },
    (directory) => sourcesOf([join(directory, 'records.ndjson')]),
  );
  expect(records).toEqual({});
  expect(files[0]!.error).toContain('has no header with each of the columns ts, up once');
});

test('headers among the rows are ignored, and rows of other kinds are counted', async () => {
  const toml = TOML.replace('[midpoints.up]', '[rows]\nonly = { field = "kind", is = ["mid", "2"] }\n[midpoints.up]');
  const content = `ts,up,kind\n${AT_MS},0.5,mid\nts,up,kind\n${AT_MS + 1},oops,other\n${AT_MS + 2},0.6,2\n`;
  const { files } = await importFiles({ [`${SLUG}/1.csv`]: content }, undefined, toml);
  expect(files[0]!.kinds.map(({ kind, read, stored, ignored }) => [kind, read, stored, ignored])).toEqual([
    ['row', 2, 2, 0],
    ['header', 0, 0, 1],
    ['other row', 0, 0, 1],
  ]);
});

test('a mapping without records imports a list of markets, before all other files', async () => {
  const toml = `
    format = "csv"
    [market]
    condition_id = "id"
    slug = "slug"
    up_token = "up"
    down_token = "down"
    winner = { field = "won", up = ["1"], down = ["0"] }
    end = { field = "end", format = "YYYY-MM-DDThh:mm:ssZ" }`;
  const content = `id,slug,up,down,won,end\n0x51,${SLUG},11,22,0,2026-04-16T07:15:00+00:00\n0x52,will-it-rain,3,4,1,2026-04-16T07:15:00Z\n`;
  const book = { ...sampleSnapshot(), conditionId: '0x51' };
  const report = await importFiles({ 'a.ndjson': `${JSON.stringify(book)}\n`, 'z.csv': content }, undefined, toml);
  expect(report.rejections).toEqual([]);
  expect(report.records).toEqual({ market: 1, snapshot: 1 });
  expect(report.total.ignored).toBe(1);
});

test('in a directory the files are read that have the list of the mapping, and an object without it is rejected', async () => {
  const toml = `
    format = "json"
    rows = { list = "ticks" }
    time = { field = "t", unit = "ms" }
    market = { slug = "slug" }
    midpoints.up = { price = "mid" }`;
  const ticks = [{ t: AT_MS, mid: 0.5 }, { t: AT_MS + 1, mid: 0.6 }, 7];
  const files = {
    'a.json': JSON.stringify({ slug: SLUG, ticks }, null, 1),
    'b.json': `${JSON.stringify({ slug: SLUG, ticks: [] })}\n${JSON.stringify({ slug: SLUG, ticks: { t: 1 } })}\n`,
    'c.json': JSON.stringify({ slug: SLUG, rows: ticks }),
  };
  const { records, rejections, skipped } = await importFiles(files, undefined, toml);
  expect(records).toEqual({ market: 1, price: 2 });
  expect(rejections.map(({ reason }) => reason).toSorted()).toEqual([
    'ticks has an element that is no object',
    'ticks is not a list',
  ]);
  expect(skipped).toHaveLength(1);
  expect(refusalOfMapping(toml.replace('json', 'csv'))).toContain('rows.list is for format = "json" only');
});
