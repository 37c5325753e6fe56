import { join } from 'node:path';
import { runExecutable, startServer } from '../support/executable.ts';
import type { Corpus } from './corpus.ts';
import { nearestPaths } from './nearest.ts';
import { measure, type Spread } from './rounds.ts';

const CONNECTIONS = 8;
const LIMITS = [1000, 100] as const;
const ROUNDS_OVER_HTTP = 7;
/** Snapshots asked for in one turn, in pages of any size; of a baseline fewer, which takes its time. */
const SNAPSHOTS_A_TURN = 64_000;
const BASELINE_SNAPSHOTS_A_TURN = 16_000;

interface Batch {
  readonly name: string;
  readonly urls: readonly string[];
}

/** Microseconds a request, with a few keep-alive connections asking at once: the executable beside servers of rows. */
export async function measureOverHttp(corpus: Corpus, baselinesPath: string): Promise<Map<string, Spread>> {
  const data = corpus.place.path;
  const made = await runExecutable(['key', 'create', '--data', data, '--tier', 'enterprise', '--rpm', '1000000']);
  if (made.code !== 0) throw new Error(made.stderr);
  const headers = { authorization: `Bearer ${made.stdout.trim()}`, 'accept-encoding': 'identity' };
  await using server = await startServer(data);
  await using rows = await startBaselines(baselinesPath);
  const batches = [
    { name: 'nearest', urls: nearestPaths(corpus, 2000).map((path) => `${server.origin}/v1${path}`) },
    ...LIMITS.flatMap((limit) => pageBatches(corpus, limit, server.origin, rows.origin)),
  ];
  const ask = async (url: string) => {
    const answer = await fetch(url, { headers });
    if (answer.status !== 200) throw new Error(`${answer.status} for ${url}`);
    return (await answer.arrayBuffer()).byteLength;
  };
  const together = async (urls: readonly string[]) => {
    let next = 0;
    const lane = async () => {
      while (next < urls.length) await ask(urls[next++]!);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  };
  const contenders = batches.map(({ name, urls }) => ({ name, times: 1, run: () => together(urls) }));
  const measured = await measure(contenders, ROUNDS_OVER_HTTP);
  return new Map(
    batches.map(({ name, urls }) => {
      const { median, min, max } = measured.get(name)!;
      return [name, { median: median / urls.length, min: min / urls.length, max: max / urls.length }];
    }),
  );
}

function pageBatches(corpus: Corpus, limit: number, service: string, rows: string): Batch[] {
  const pages = (count: number, url: (symbol: string, market: string, from: number) => string) =>
    Array.from({ length: count }, (_, nth) => {
      const { market, timestampsMs } = corpus.large[nth % corpus.large.length]!;
      return url(market.symbol, market.conditionId, timestampsMs[Math.floor(timestampsMs.length / 4)]!);
    });
  const baseline = (path: string) =>
    pages(
      BASELINE_SNAPSHOTS_A_TURN / limit,
      (_, market, from) => `${rows}/${path}?market=${market}&from=${from}&limit=${limit}`,
    );
  const name = `page of ${limit}`;
  return [
    {
      name,
      urls: pages(
        SNAPSHOTS_A_TURN / limit,
        (symbol, market, from) => `${service}/v1/${symbol}/markets/${market}/snapshots?limit=${limit}&from=${from}`,
      ),
    },
    { name: `${name}, rows of JSON text → JSON.parse → JSON.stringify`, urls: baseline('json') },
    { name: `${name}, rows of msgpack → unpack → JSON.stringify`, urls: baseline('msgpack') },
  ];
}

async function startBaselines(path: string): Promise<AsyncDisposable & { readonly origin: string }> {
  const server = Bun.spawn([process.execPath, join(import.meta.dir, 'baseline-server.ts'), path], { stdout: 'pipe' });
  const { value } = await server.stdout.getReader().read();
  const port = new TextDecoder().decode(value).trim();
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.kill();
      await server.exited;
    },
  };
}
