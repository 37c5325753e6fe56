import type { ImportReport } from '../../src/recording/report.ts';
import { importPaths, temporaryArchive } from '../support/archive.ts';
import { bytesOf, type Corpus } from './corpus.ts';
import { type Spread, spreadOf } from './rounds.ts';

const IMPORT_ROUNDS = 7;

export interface ImportRate {
  readonly records: number;
  readonly recordsPerSecond: Spread;
}

/** One market's recording into a new archive, in interleaved rounds. */
export async function measureImports(corpus: Corpus): Promise<Map<string, ImportRate>> {
  const megabytes = Math.round(bytesOf(corpus.ndjson) / 1e6);
  const inputs: [string, string][] = [[`NDJSON, ${megabytes} MB`, corpus.ndjson]];
  if (corpus.books !== undefined) inputs.push(['Parquet of book messages', corpus.books]);
  const rates = new Map(
    inputs.map(([name]): [string, { records: number; rates: number[] }] => [name, { records: 0, rates: [] }]),
  );
  for (let round = -1; round < IMPORT_ROUNDS; round += 1) {
    for (const [name, path] of inputs) {
      using place = temporaryArchive();
      const started = performance.now();
      const { total }: ImportReport = await importPaths(place.archive, path);
      const seconds = (performance.now() - started) / 1000;
      if (total.rejected > 0) throw new Error(`${total.rejected} records of the corpus were rejected`);
      // The round before the first warms up.
      if (round < 0) continue;
      rates.get(name)!.records = total.read;
      rates.get(name)!.rates.push(total.read / seconds);
    }
  }
  return new Map(
    [...rates].map(([name, { records, rates: all }]) => [name, { records, recordsPerSecond: spreadOf(all) }]),
  );
}
