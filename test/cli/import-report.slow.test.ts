import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { temporaryDirectory } from '../support/archive.ts';
import { runCommand } from '../support/command.ts';
import { lightNdjson } from '../support/light-recording.ts';

const RESULTS = ['read', 'stored', 'duplicate', 'rejected', 'ignored', 'gaps'] as const;
type Row = Readonly<Record<string, string>>;

/** The tables of a report: rows by their headings. A cell without a value repeats the one above it. */
function tablesOf(stdout: string): Row[][] {
  const [first, ...others] = stdout.trimEnd().split('\n\n');
  return [first!.slice(first!.indexOf('\n') + 1), ...others].map((text) => {
    const [head = '', ...lines] = text.split('\n');
    const headings = [...head.matchAll(/\S+(?: \S+)*/g)];
    const rows: Row[] = [];
    for (const line of lines) {
      const cells = line.trimEnd().split(/ {2,}/);
      // Columns of texts begin, and those of numbers end, with their heading.
      const row = Object.fromEntries(
        headings.map(({ 0: name, index }) => {
          const cell = [...line.matchAll(/\S+(?: \S+)*/g)].find(
            (at) => at.index === index || at.index + at[0].length === index + name.length,
          );
          return [name, cell?.[0] ?? rows.at(-1)?.[name] ?? ''];
        }),
      );
      expect(cells.length).toBeLessThanOrEqual(headings.length + 1);
      rows.push(row);
    }
    return rows;
  });
}

const sumOf = (rows: readonly Row[]) =>
  RESULTS.map((result) => rows.reduce((sum, row) => sum + Number(row[result]), 0));

/** Recordings by their paths, in a directory of their own. */
async function imported(recordings: Readonly<Record<string, string | Uint8Array>>, ...options: readonly string[]) {
  using directory = temporaryDirectory();
  for (const [path, text] of Object.entries(recordings)) {
    mkdirSync(join(directory.path, 'in', dirname(path)), { recursive: true });
    writeFileSync(join(directory.path, 'in', path), text);
  }
  const args = ['import', 'in', '--data', join(directory.path, 'data'), ...options];
  return await runCommand(args, { cwd: directory.path });
}

const line = (nth: number) =>
  JSON.stringify({
    type: 'orderbook_snapshot',
    ts: 1_776_323_404_000 + nth,
    up: { bids: [], asks: [] },
    down: { bids: [], asks: [] },
  });
const BAD = '{"type":"snapshot","conditionId":"0x1"}\n';

/** 25 files of one format in two folders, 6 of another, 2 with rejected records, and one that is cut off. */
const MANY: Readonly<Record<string, string | Uint8Array>> = {
  ...Object.fromEntries(
    Array.from({ length: 25 }, (_, nth) => [`${nth < 13 ? 'mon' : 'tue'}/part-${nth}.ndjson`, lightNdjson(3, nth * 3)]),
  ),
  ...Object.fromEntries(
    Array.from({ length: 6 }, (_, nth) => [`tue/${nth}/btc-updown-5m-1776323400.jsonl`, `${line(nth)}\n`]),
  ),
  'mon/bad.ndjson': `${lightNdjson(2, 90)}${BAD}`,
  'tue/bad.ndjson': `${lightNdjson(1, 95)}${BAD}${BAD}`,
  'tue/cut.ndjson.gz': gzipSync(lightNdjson(500)).subarray(0, 300),
};

test('An import of more than 20 files prints sums by folder and format and the files with problems; --files lists all.', async () => {
  const [summary, whole, json] = [
    await imported(MANY),
    await imported(MANY, '--files'),
    await imported(MANY, '--json'),
  ];
  const [sums, ...more] = tablesOf(summary.stdout);
  const problems = more.at(-1)!;
  const [all] = tablesOf(whole.stdout);
  const { files } = JSON.parse(json.stdout) as { files: { path: string; format: string }[] };
  expect(new Set(all!.map(({ file }) => file))).toEqual(new Set(files.map(({ path }) => path)));
  for (const [folder, format] of new Set(sums!.map((row) => [row.folder!, row.format!] as const))) {
    const own = files.filter((file) => `${dirname(file.path)}/` === folder && file.format === format);
    const rows = all!.filter((row) => own.some(({ path }) => path === row.file));
    expect(sumOf(sums!.filter((row) => row.folder === folder && row.format === format))).toEqual(sumOf(rows));
    expect(sums!.find((row) => row.folder === folder && row.format === format)!.files).toBe(String(own.length));
  }
  expect(sumOf(sums!)).toEqual(sumOf(all!));
  expect(problems.map((row) => [row['file with problems'], row.read, row.rejected])).toEqual([
    ['in/mon/bad.ndjson', '1', '0'],
    ['in/mon/bad.ndjson', '3', '1'],
    ['in/tue/bad.ndjson', '1', '0'],
    ['in/tue/bad.ndjson', '3', '2'],
    ['in/tue/cut.ndjson.gz', '1', '0'],
  ]);
  expect(summary.stderr).toContain(`--files lists all ${files.length} files\n`);
  expect(whole.stdout).not.toContain('folder');
  expect(whole.stderr).not.toContain('--files');
  // Twenty files are listed as they are.
  const few = await imported(Object.fromEntries(Object.entries(MANY).slice(0, 20)));
  expect(tablesOf(few.stdout)[0]).toHaveLength(40);
});

test('Hundreds of folders are summed up by the folders that they are in, and of hundreds of bad files 20 are named.', async () => {
  const days = Object.fromEntries(
    Array.from({ length: 60 }, (_, nth) => [
      `${nth % 2 === 0 ? 'even' : 'odd'}/${nth}/one.ndjson`,
      `${lightNdjson(1, nth)}${BAD}`,
    ]),
  );
  const { stdout, stderr } = await imported(days);
  const tables = tablesOf(stdout);
  expect(tables[0]!.map(({ folder, kind, files, read }) => [folder, kind, files, read])).toEqual([
    ...[
      ['in/even/', 'market', '30', '30'],
      ['in/even/', 'snapshot', '30', '60'],
    ],
    ...[
      ['in/odd/', 'market', '30', '30'],
      ['in/odd/', 'snapshot', '30', '60'],
    ],
  ]);
  expect(new Set(tables.at(-1)!.map((row) => row['file with problems']))).toHaveProperty('size', 20);
  expect(stderr).toContain('--files lists all 60 files, also the other 40 with problems\n');
});
