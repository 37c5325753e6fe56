import { expect, test } from 'bun:test';
import { Importer } from '../../src/import/importer.ts';
import { sourcesOf } from '../../src/import/source.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { exported } from '../export/exported.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { IS_FULL } from '../support/campaign-size.ts';
import { KINDS_OF_BOOKS, realBooksOf, realRecording } from '../support/real-recordings.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

type Paths = readonly string[] | undefined;
/**
 * Real recordings, with the most bytes of all files of their sealed markets for each recorded book, and the files that are imported
 * with mirrored books if they are fewer.
 */
const RECORDINGS: readonly (readonly [name: string, paths: Paths, bytesMax: number, fewer?: Paths])[] = [
  ['both outcomes of two markets, whole', pathsOf('ws-capture-5m'), 16],
  [
    'books of 16 markets, mostly of one outcome',
    pathsOf('books-5m-parquet'),
    38.3,
    IS_FULL ? undefined : realBooksOf(...KINDS_OF_BOOKS),
  ],
  ['three coins, with prices of other venues', pathsOf('sessions-15m'), Infinity],
  ['snapshots of five levels', pathsOf('snapshots-1s'), Infinity],
  ['quotes', pathsOf('quotes-15m-csv'), Infinity],
];

function pathsOf(name: string): string[] | undefined {
  const path = realRecording(name);
  return path === undefined ? undefined : [path];
}

for (const [name, all, bytesMax, fewer = all] of RECORDINGS) {
  for (const mirror of [false, true]) {
    const paths = mirror ? fewer : all;
    const title = `A real recording (${name}, ${mirror ? 'with' : 'without'} mirrored books) is exported as before when it is sealed, and takes few bytes.`;
    test.skipIf(paths === undefined)(title, async () => {
      using place = temporaryArchive();
      const { archive } = place;
      await new Importer(archive, { clock: () => NOW_MS, mirror }).run(sourcesOf([...paths!]));
      const bytesOf = async () => [
        (await exported(archive, 'ndjson')).bytes,
        (await exported(archive, 'segments')).bytes,
      ];
      const before = await bytesOf();
      sealAll(archive);
      for (const [i, bytes] of (await bytesOf()).entries()) expect(bytes.equals(before[i]!)).toBe(true);
      const { problems } = await verifyDirectory(place.path, { clock: () => NOW_MS });
      expect(problems.filter(({ kind }) => kind === 'segment' || kind === 'sealed' || kind === 'database')).toEqual([]);
      const bytes = sealedMarkets(archive).reduce((sum, market) => sum + market.bytes, 0);
      const books = archive.database.read(() => archive.recordCounts()).snapshots;
      if (!mirror) expect(bytes / books).toBeLessThanOrEqual(bytesMax);
    });
  }
}
