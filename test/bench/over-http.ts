import { runExecutable, startServer } from '../support/executable.ts';
import type { Corpus } from './corpus.ts';
import { nearestPaths } from './nearest.ts';
import { measure, type Spread } from './rounds.ts';

const CONNECTIONS = 8;
const LIMITS = [1000, 100] as const;
const ROUNDS_OVER_HTTP = 7;

/** Microseconds a request, from the compiled executable, with a few keep-alive connections asking at once. */
export async function measureOverHttp(corpus: Corpus): Promise<Map<string, Spread>> {
  const data = corpus.place.path;
  const made = await runExecutable(['key', 'create', '--data', data, '--tier', 'enterprise', '--rpm', '1000000']);
  if (made.code !== 0) throw new Error(made.stderr);
  const headers = { authorization: `Bearer ${made.stdout.trim()}`, 'accept-encoding': 'identity' };
  await using server = await startServer(data);
  const ask = async (path: string) => {
    const answer = await fetch(`${server.origin}/v1${path}`, { headers });
    if (answer.status !== 200) throw new Error(`${answer.status} for ${path}`);
    return (await answer.arrayBuffer()).byteLength;
  };
  const together = async (paths: readonly string[]) => {
    let next = 0;
    const lane = async () => {
      while (next < paths.length) await ask(paths[next++]!);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  };
  const page = (limit: number, nth: number) => {
    const { market, timestampsMs } = corpus.large[nth % corpus.large.length]!;
    const from = timestampsMs[Math.floor(timestampsMs.length / 4)]!;
    return `/${market.symbol}/markets/${market.conditionId}/snapshots?limit=${limit}&from=${from}`;
  };
  const batches: [name: string, paths: string[]][] = [
    ['nearest', nearestPaths(corpus, 2000)],
    ...LIMITS.map((limit): [string, string[]] => [
      `page of ${limit}`,
      Array.from({ length: 64_000 / limit }, (_, nth) => page(limit, nth)),
    ]),
  ];
  const contenders = batches.map(([name, paths]) => ({ name, times: 1, run: () => together(paths) }));
  const measured = await measure(contenders, ROUNDS_OVER_HTTP);
  return new Map(
    batches.map(([name, paths]) => {
      const { median, min, max } = measured.get(name)!;
      return [name, { median: median / paths.length, min: min / paths.length, max: max / paths.length }];
    }),
  );
}
