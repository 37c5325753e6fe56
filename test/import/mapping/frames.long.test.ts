import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { Importer } from '../../../src/import/importer.ts';
import { inspect } from '../../../src/import/inspection/inspection.ts';
import { suggestedMapping } from '../../../src/import/inspection/suggested-mapping.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { bookLine } from '../../recorder/book-ledger.ts';
import { importPaths, NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf } from '../../support/imported.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { mappingOf, refusalOfMapping } from './mapped-import.ts';

const CAPTURE = realRecording('ws-capture-5m');
const SLUG = 'btc-updown-5m-1776808200';

const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

/** Files with a frame in each row. */
const TABLES: readonly (readonly [string, (path: string, frames: readonly string[]) => void])[] = [
  [
    'frames.db',
    (path, frames) => {
      using database = new Database(path, { create: true });
      database.run('CREATE TABLE messages (id INTEGER PRIMARY KEY, received REAL, payload TEXT)');
      const insert = database.query('INSERT INTO messages (received, payload) VALUES (?, ?)');
      database.transaction(() => {
        for (const frame of frames) insert.run(1_776_808_414.5, frame);
      })();
    },
  ],
  [
    'frames.csv',
    (path, frames) =>
      writeFileSync(path, ['received,payload', ...frames.map((frame) => `1776808414.5,${quoted(frame)}`)].join('\n')),
  ],
  [
    'frames.parquet',
    (path, frames) => {
      const columnData = [
        { name: 'received', data: frames.map(() => 1_776_808_414.5), type: 'DOUBLE' as const },
        { name: 'payload', data: [...frames], type: 'STRING' as const },
      ];
      writeFileSync(path, new Uint8Array(parquetWriteBuffer({ columnData })));
    },
  ],
];

function booksIn(archive: Archive): string[] {
  const books = [...booksOf(archive, SLUG, 'up'), ...booksOf(archive, SLUG, 'down')];
  return books.map(({ timestampMs, book }) => bookLine(timestampMs, book));
}

describe.skipIf(CAPTURE === undefined)('frames in a column', () => {
  let expected: readonly string[];
  beforeAll(async () => {
    using plain = temporaryArchive();
    await importPaths(plain.archive, CAPTURE!);
    expected = booksIn(plain.archive);
  });

  test.each(TABLES)('of %s are read by the mapping that inspect prints, as those of a capture', async (name, write) => {
    using mapped = temporaryArchive();
    using directory = temporaryDirectory();
    const markets = join(CAPTURE!, 'markets.json');
    await importPaths(mapped.archive, markets);
    const lines = readFileSync(join(CAPTURE!, 'market-ws.jsonl'), 'utf8').trimEnd().split('\n');
    const path = join(directory.path, name);
    write(
      path,
      lines.map((line) => JSON.stringify((JSON.parse(line) as { payload: unknown }).payload)),
    );

    const [source] = sourcesOf([path]);
    const inspection = await inspect(source!);
    expect(inspection.recording).toBeUndefined();
    const toml = suggestedMapping(inspection, inspection.tables[0]!);
    expect(toml).toContain('[frames]\nfield = "payload"');
    const importer = new Importer(mapped.archive, { clock: () => NOW_MS, mapping: mappingOf(toml) });
    const { total, notes } = await importer.run([source!]);
    expect({ rejected: total.rejected, gaps: total.gaps }).toEqual({ rejected: 0, gaps: 0 });
    expect(notes.join()).toContain('144 of 144 book hashes verified');
    expect(booksIn(mapped.archive)).toEqual([...expected]);
  });
});

test.each([
  ['[time]\nfield = "t"\nunit = "ms"', 'time contradicts frames, which state it themselves: remove one'],
  ['[rows]\nrepeats = "keep"', 'rows.repeats contradicts frames: remove it'],
])('a mapping of frames with %j is refused', (more, sentence) => {
  expect(refusalOfMapping(`format = "csv"\n[frames]\nfield = "payload"\n${more}`)).toContain(sentence);
});
