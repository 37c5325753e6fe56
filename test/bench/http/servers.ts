import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { cpuSeconds } from '../../fault/machine.ts';
import { temporaryDirectory } from '../../support/archive.ts';
import { EXECUTABLE, startServer } from '../../support/executable.ts';
import { childrenOf } from '../../support/processes.ts';
import { ROUNDS, type Spread, spreadOf } from '../rounds.ts';
import { asksOf } from './constant.ts';
import type { HttpCorpus } from './corpus.ts';
import { writeRequests } from './trial.ts';
import { runWrk } from './wrk.ts';

export const SECONDS = 2;
const WARM_UP_SECONDS = 3;

/** Settings of a server, by the name that the results have. */
interface Variant {
  readonly name: string;
  readonly args: readonly string[];
  /** Default: the executable under test. */
  readonly executable?: string;
}

export interface Measured {
  readonly requestsPerSecond: Spread;
  /** Microseconds of processor for a request, of all processes of the server. */
  readonly micros: Spread;
  /** Microseconds of processor for a request, of wrk, which runs on the same machine. */
  readonly clientMicros: Spread;
}

/** By kind of request, then by server. */
export type ServerFigures = ReadonlyMap<string, ReadonlyMap<string, Measured>>;

/** Measures servers of the same records, with different settings, in turns. `kinds`: the names of the kinds of request. */
export async function measureServers(
  corpus: HttpCorpus,
  kinds: readonly string[],
  variants: readonly Variant[],
  connections: number,
): Promise<ServerFigures> {
  using directory = temporaryDirectory();
  await using running = new AsyncDisposableStack();
  const servers = [];
  for (const { name, args, executable = EXECUTABLE } of variants) {
    const data = join(directory.path, name);
    cpSync(corpus.data, data, { recursive: true });
    const { origin, pid } = running.use(await startServer(data, args, executable));
    servers.push({ name, origin, pids: [pid, ...childrenOf(pid)] });
  }
  const figures = new Map<string, ReadonlyMap<string, Measured>>();
  for (const { name: kind, paths } of corpus.kinds.filter(({ name }) => kinds.includes(name))) {
    const asks = asksOf(paths, corpus.keys);
    const loads = await Promise.all(
      servers.map(async ({ name, origin, pids }) => {
        const requests = await writeRequests(directory.path, { name, origin, asks });
        const load = { origin, requests, connections };
        return { name, pids, load, rates: [] as number[], micros: [] as number[], clientMicros: [] as number[] };
      }),
    );
    for (const { load } of loads) await runWrk({ ...load, first: 0, seconds: WARM_UP_SECONDS });
    for (let round = 0; round < ROUNDS; round += 1) {
      const first = Math.floor((asks.length * round) / ROUNDS);
      for (const { pids, load, rates, micros, clientMicros } of round % 2 === 0 ? loads : loads.toReversed()) {
        const used = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
        const started = used();
        const { answers, requestsPerSecond, clientSeconds } = await runWrk({ ...load, first, seconds: SECONDS });
        rates.push(requestsPerSecond);
        micros.push(((used() - started) / answers) * 1e6);
        clientMicros.push((clientSeconds / answers) * 1e6);
      }
    }
    const measured = ({ rates, micros, clientMicros }: (typeof loads)[number]) => ({
      requestsPerSecond: spreadOf(rates),
      micros: spreadOf(micros),
      clientMicros: spreadOf(clientMicros),
    });
    figures.set(kind, new Map(loads.map((load) => [load.name, measured(load)])));
  }
  return figures;
}
