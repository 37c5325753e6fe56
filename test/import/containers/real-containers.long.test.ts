import { beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportReport } from '../../../src/import/report.ts';
import { importPaths, type TemporaryArchive, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';
import { booksOf, tradesOf } from '../../support/imported.ts';
import { realRecording } from '../../support/real-recordings.ts';
import { storedIn } from '../../support/stored.ts';
import { has, run } from './made-archives.ts';

const CAPTURE = realRecording('ws-capture-5m');

/** Everything that an import of the capture stored. */
function contentOf({ archive, path }: TemporaryArchive) {
  const { series, markets } = storedIn(path);
  const every = {
    timeframe: undefined,
    recorded: undefined,
    closed: undefined,
    fromMs: 0,
    toMs: Number.MAX_SAFE_INTEGER,
  };
  const slugs = archive.markets
    .coins()
    .flatMap((coin) => [...archive.markets.filtered(coin, every)].map(({ slug }) => slug));
  const assets = slugs.flatMap((slug) => (['up', 'down'] as const).map((outcome) => [slug, outcome] as const));
  // As texts: they are compared in a tenth of the time.
  const books = assets.map((asset) => JSON.stringify([asset, booksOf(archive, ...asset), tradesOf(archive, ...asset)]));
  return { series, markets, books };
}

/** How programs of the system pack the directory `in`. */
const PACKED: readonly (readonly [string, readonly string[], string])[] = [
  ['a.zip', ['zip'], 'cd in && zip -qr ../a.zip .'],
  ['stored.zip', ['zip'], 'cd in && zip -q0r ../stored.zip .'],
  ['a.tar', ['tar'], 'tar -C in -cf a.tar .'],
  ['a.tar.gz', ['tar'], 'tar -C in -czf a.tar.gz .'],
  ['a.tar.zst', ['tar', 'zstd'], 'tar -C in -c . | zstd -q > a.tar.zst'],
  ['a.tar.xz', ['tar', 'xz'], 'tar -C in -cJf a.tar.xz .'],
  ['xz', ['xz'], 'cp -r in xz && xz xz/market-ws.jsonl'],
];

/** Writes the beginning of the capture: another file than its whole takes no other way. */
function writeCapture(directory: string): void {
  mkdirSync(directory);
  cpSync(join(CAPTURE!, 'markets.json'), join(directory, 'markets.json'));
  const lines = readFileSync(join(CAPTURE!, 'market-ws.jsonl'), 'utf8').split('\n').slice(0, 1200);
  writeFileSync(join(directory, 'market-ws.jsonl'), `${lines.join('\n')}\n`);
}

describe.skipIf(CAPTURE === undefined)('a real capture gives the same records', () => {
  let expected: Pick<ImportReport, 'total'> & { readonly content: ReturnType<typeof contentOf> };
  beforeAll(async () => {
    using directory = temporaryDirectory();
    using place = temporaryArchive();
    writeCapture(join(directory.path, 'in'));
    const { total } = await importPaths(place.archive, join(directory.path, 'in'));
    expected = { total, content: contentOf(place) };
    expect(expected.content.books).toHaveLength(4);
  });

  for (const [name, programs, command] of PACKED) {
    test.skipIf(!has(...programs))(`as ${name}`, async () => {
      using directory = temporaryDirectory();
      using place = temporaryArchive();
      writeCapture(join(directory.path, 'in'));
      run(directory.path, 'sh', '-c', `chmod -R u+w in && ${command}`);
      const path = join(directory.path, name);
      const { total, files } = await importPaths(place.archive, path);
      expect(total.stored).toBeGreaterThan(1000);
      expect(total).toEqual(expected.total);
      expect(contentOf(place)).toEqual(expected.content);
      expect(files).toHaveLength(2);
      const again = await importPaths(place.archive, path);
      expect(again.total.stored).toBe(0);
      expect(contentOf(place)).toEqual(expected.content);
    });
  }

  test.skipIf(!has('bzip2', 'tar')).each([
    ['market-ws.jsonl.bz2', 'bzip2 -k in/market-ws.jsonl && mv in/market-ws.jsonl.bz2 .'],
    ['a.tar.bz2', 'tar -C in -cjf a.tar.bz2 .'],
  ])('as %s nothing is stored, and a sentence says what to do', async (name, command) => {
    using directory = temporaryDirectory();
    using place = temporaryArchive();
    writeCapture(join(directory.path, 'in'));
    run(directory.path, 'sh', '-c', `chmod -R u+w in && ${command}`);
    expect(importPaths(place.archive, join(directory.path, name))).rejects.toThrow(
      'it is compressed with bzip2: decompress it first, or use gzip, zstd or xz',
    );
    expect(storedIn(place.path).markets).toBe(0);
  });
});
