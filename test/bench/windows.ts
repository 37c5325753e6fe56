import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { cpuSeconds } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, startServer } from '../support/executable.ts';
import { HAS_REDIS, RedisServer } from '../support/redis.ts';
import { asksOf } from './http/constant.ts';
import type { HttpCorpus } from './http/corpus.ts';
import { writeRequests } from './http/trial.ts';
import { runWrk } from './http/wrk.ts';
import { LeftOut } from './program.ts';
import { ratioGoal, type Section, shown, table, times } from './report.ts';
import { ROUNDS, type Spread, spreadOf } from './rounds.ts';

const [CONNECTIONS, SECONDS, WARM_UP_SECONDS] = [16, 2, 3];
/** Ratios to the server without Redis. */
const RATIOS_MIN: Readonly<Record<string, number>> = { nearest: 0.6, 'page of 100': 0.7 };
const [WITHOUT, WITH, BEFORE] = ['without Redis', 'with Redis', 'without Redis, before'];

interface Measured {
  readonly requestsPerSecond: Spread;
  /** Microseconds of the server's processor for a request. */
  readonly micros: Spread;
}

/** By kind of request, then by server. */
type WindowsFigures = ReadonlyMap<string, ReadonlyMap<string, Measured>>;

/** Measures servers with and without `--windows` in turns, and the executable `before` if one is given. */
export async function measureWindows(corpus: HttpCorpus, before: string | undefined): Promise<WindowsFigures> {
  if (!HAS_REDIS) throw new LeftOut('redis-server is not installed');
  using directory = temporaryDirectory();
  await using running = new AsyncDisposableStack();
  const redis = running.use(await RedisServer.start());
  const kinds = [
    { name: WITHOUT!, args: [], executable: EXECUTABLE },
    { name: WITH!, args: redis.settings, executable: EXECUTABLE },
    ...(before === undefined ? [] : [{ name: BEFORE!, args: [], executable: before }]),
  ];
  const servers = [];
  for (const { name, args, executable } of kinds) {
    const data = join(directory.path, name);
    cpSync(corpus.data, data, { recursive: true });
    servers.push({ name, ...running.use(await startServer(data, args, executable)) });
  }
  const figures = new Map<string, ReadonlyMap<string, Measured>>();
  for (const { name: kind, paths } of corpus.kinds.filter(({ name }) => name in RATIOS_MIN)) {
    const asks = asksOf(paths, corpus.keys);
    const loads = await Promise.all(
      servers.map(async ({ name, origin, pid }) => {
        const requests = await writeRequests(directory.path, { name, origin, asks });
        const load = { origin, requests, connections: CONNECTIONS };
        return { name, pid, load, rates: [] as number[], micros: [] as number[] };
      }),
    );
    for (const { load } of loads) await runWrk({ ...load, first: 0, seconds: WARM_UP_SECONDS });
    for (let round = 0; round < ROUNDS; round += 1) {
      const first = Math.floor((asks.length * round) / ROUNDS);
      for (const { pid, load, rates, micros } of round % 2 === 0 ? loads : loads.toReversed()) {
        const started = cpuSeconds(pid);
        const { answers, requestsPerSecond } = await runWrk({ ...load, first, seconds: SECONDS });
        rates.push(requestsPerSecond);
        micros.push(((cpuSeconds(pid) - started) / answers) * 1e6);
      }
    }
    const measured = ({ rates, micros }: (typeof loads)[number]) => ({
      requestsPerSecond: spreadOf(rates),
      micros: spreadOf(micros),
    });
    figures.set(kind, new Map(loads.map((load) => [load.name, measured(load)])));
  }
  return figures;
}

export function windowsSection(figures: WindowsFigures): Section {
  const ratioOf = (servers: ReadonlyMap<string, Measured>, name: string) =>
    servers.get(name)!.requestsPerSecond.median / servers.get(WITHOUT!)!.requestsPerSecond.median;
  const rows = [...figures].flatMap(([kind, servers]) =>
    [...servers].map(([name, { requestsPerSecond, micros }]) => [
      `${kind}: ${name}`,
      shown(requestsPerSecond),
      times(ratioOf(servers, name)),
      shown(micros),
    ]),
  );
  return {
    text: `## Limits in Redis

Servers with and without \`--windows\`, one process each, and a redis-server on the same machine: ${CONNECTIONS} keep-alive connections, ${ROUNDS} rounds of ${SECONDS} s in turns. The processor is that of the server. \`make bench BEFORE=…\` measures an earlier executable too.

${table(['request', 'requests a second', 'to without Redis', 'µs of processor'], rows)}`,
    goals: [...figures].map(([kind, servers]) =>
      ratioGoal(`${kind} with limits in Redis, to without`, ratioOf(servers, WITH!), RATIOS_MIN[kind]!),
    ),
  };
}
