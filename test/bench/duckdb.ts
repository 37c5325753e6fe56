import { join } from 'node:path';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import { temporaryDirectory } from '../support/archive.ts';
import type { Corpus } from './corpus.ts';
import { contenderProcess, installContenders } from './http/node-servers.ts';
import { type Section, shown, table, times } from './report.ts';
import { measure, type Spread } from './rounds.ts';

const ROUNDS = 5;
/** Runs in one round: few, because DuckDB is slow. */
const OWN_TIMES = 60;
const DUCKDB_TIMES = 5;
const LIMITS = [1000, 100] as const;

type Question = { readonly market: string } & (
  | { readonly from: number; readonly limit: number; readonly nextCursor: string | null }
  | { readonly at: number }
);

interface DuckDbRequest {
  /** The same look-up each time; if the number is not 0, with a new URL, so that no cached answer fits. */
  readonly path: (nth: number) => string;
  readonly question: Question;
}

export interface DuckdbFigures {
  readonly version: string;
  /** Microseconds by kind of request. */
  readonly kinds: ReadonlyMap<string, { readonly bookreel: Spread; readonly duckdb: Spread }>;
}

/** DuckDB with Parquet in another process, compared with the whole request in this one. */
export async function measureDuckdb(corpus: Corpus, say: (line: string) => void): Promise<DuckdbFigures> {
  await installContenders(say);
  using directory = temporaryDirectory();
  await using duckdb = contenderProcess('duckdb.mjs', [corpus.ndjson, join(directory.path, 'snapshots.parquet')]);
  const version = JSON.parse(await duckdb.nextLine()) as string;
  const ask = async (question: Question, show: boolean): Promise<string> => {
    duckdb.write(`${JSON.stringify({ ...question, show })}\n`);
    return await duckdb.nextLine();
  };
  const own = async (path: string) => await (await corpus.service.get(path)).arrayBuffer();
  const kinds = new Map<string, { bookreel: Spread; duckdb: Spread }>();
  for (const [name, requests] of await requestKinds(corpus)) {
    for (const one of requests.slice(0, DUCKDB_TIMES)) {
      const expected: unknown = JSON.parse(Buffer.from(await own(one.path(0))).toString());
      const answer: unknown = JSON.parse(JSON.parse(await ask(one.question, true)) as string);
      if (!Bun.deepEquals(answer, expected, true)) throw new Error(`DuckDB answers differently: ${one.path(0)}`);
    }
    let questions = 0;
    const nth = (index: number) => requests[index % requests.length]!;
    const contenders = [
      { name: 'bookreel', times: OWN_TIMES, run: (index: number) => own(nth(index).path(++questions)) },
      { name: 'duckdb', times: DUCKDB_TIMES, run: (index: number) => ask(nth(index).question, false) },
    ];
    const measured = await measure(contenders, ROUNDS);
    kinds.set(name, { bookreel: measured.get('bookreel')!, duckdb: measured.get('duckdb')! });
  }
  return { version, kinds };
}

/** The same requests for both, spread over the large markets. */
async function requestKinds(corpus: Corpus): Promise<Map<string, DuckDbRequest[]>> {
  const places = corpus.large.flatMap(({ market, timestampsMs }) =>
    [0.1, 0.5, 0.7].map((part) => ({ market, timestampMs: timestampsMs[Math.floor(timestampsMs.length * part)]! })),
  );
  const series = ({ market }: (typeof places)[number]) => `/${market.symbol}/markets/${market.conditionId}/snapshots`;
  const kinds = new Map<string, DuckDbRequest[]>();
  kinds.set(
    'nearest of each outcome',
    places.map((place) => {
      const at = place.timestampMs + 5;
      const path = (nth: number) => `${series(place)}/at/${at + nth}`;
      return { path, question: { market: place.market.conditionId, at } };
    }),
  );
  for (const limit of LIMITS) {
    const requests = places.map(async (place) => {
      const first = `${series(place)}?limit=${limit}&from=${place.timestampMs}`;
      // `to` is after every record, so it does not change the answer.
      const path = (nth: number) => (nth === 0 ? first : `${first}&to=${INSTANT_MAX_MS - nth}`);
      const { nextCursor } = (await (await corpus.service.get(first)).json()) as { nextCursor: string | null };
      const question = { market: place.market.conditionId, from: place.timestampMs, limit, nextCursor };
      return { path, question };
    });
    kinds.set(`page of ${limit}`, await Promise.all(requests));
  }
  return kinds;
}

export function duckdbSection({ version, kinds }: DuckdbFigures): Section {
  const rows = [...kinds].map(([kind, { bookreel, duckdb }]) => [
    kind,
    shown(bookreel),
    shown(duckdb),
    times(duckdb.median / bookreel.median),
  ]);
  return {
    text: `## DuckDB over Parquet, in process

DuckDB ${version} with Node: prepared statements on one Parquet file (zstd, sorted by market and time, row groups of 2048) of the large
markets, with each record's JSON as text, including the body's length. bookreel: the whole request in process (key, rate limit,
look-up, entity tag, headers). Both return the same values. µs, ${ROUNDS} rounds.

${table(['request', 'bookreel', 'DuckDB', 'bookreel is'], rows)}`,
  };
}
