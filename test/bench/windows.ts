import { HAS_REDIS, RedisServer } from '../support/redis.ts';
import type { HttpCorpus } from './http/corpus.ts';
import { type Measured, measureServers, SECONDS, type ServerFigures } from './http/servers.ts';
import { LeftOut } from './program.ts';
import { ratioGoal, type Section, shown, table, times } from './report.ts';
import { ROUNDS } from './rounds.ts';

const CONNECTIONS = 16;
/** Ratios to the server without Redis. */
const RATIOS_MIN: Readonly<Record<string, number>> = { nearest: 0.6, 'page of 100': 0.7 };
const [WITHOUT, WITH, BEFORE] = ['without Redis', 'with Redis', 'without Redis, before'];

/** Measures servers with and without `--windows` in turns, and the executable `before` if one is given. */
export async function measureWindows(corpus: HttpCorpus, before: string | undefined): Promise<ServerFigures> {
  if (!HAS_REDIS) throw new LeftOut('redis-server is not installed');
  await using redis = await RedisServer.start();
  const variants = [
    { name: WITHOUT!, args: [] },
    { name: WITH!, args: redis.settings },
    ...(before === undefined ? [] : [{ name: BEFORE!, args: [], executable: before }]),
  ];
  return await measureServers(corpus, Object.keys(RATIOS_MIN), variants, CONNECTIONS);
}

export function windowsSection(figures: ServerFigures): Section {
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
