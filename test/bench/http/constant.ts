import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { cpuSeconds } from '../../fault/machine.ts';
import { temporaryDirectory } from '../../support/archive.ts';
import { EXECUTABLE, startServer } from '../../support/executable.ts';
import { figure, type Section, shown, table } from '../report.ts';
import { ROUNDS, type Spread, spreadOf } from '../rounds.ts';
import type { Ask } from './contender.ts';
import type { HttpCorpus } from './corpus.ts';
import { writeRequests } from './trial.ts';
import { runWrk } from './wrk.ts';

const CONNECTIONS = 16;
const SECONDS = 2;
/** Until then the compiler of the runtime takes a part of the processor. */
const WARM_UP_SECONDS = 6;
/** Number of answers of which the client has a copy. */
const COPIES = 2000;
const MICROS_MAX = 30;

/** Requests whose answers cost little more than what every answer costs. */
export interface ConstantKind {
  readonly name: string;
  /** For a server with the records of the corpus and these keys. */
  readonly asksOf: (origin: string, keys: readonly string[]) => Promise<readonly Ask[]>;
}

export function constantKinds({ kinds }: Pick<HttpCorpus, 'kinds'>): ConstantKind[] {
  const paths = kinds.find(({ name }) => name === 'nearest')?.paths ?? [];
  const markets = [...new Set(paths.map((path) => path.split('/snapshots')[0]!))];
  return [
    {
      name: 'a market, 304',
      asksOf: async (origin, keys) => (await withCurrentCopies(origin, asksOf(markets, keys))) ?? [],
    },
    {
      name: 'market list of 1 from the cache',
      asksOf: async (_, keys) =>
        asksOf(
          keys.map((_key, skip) => `/v1/btc/markets?limit=1&skip=${skip}`),
          keys,
        ),
    },
  ];
}

/** Requests that alternate between keys. */
export function asksOf(paths: readonly string[], keys: readonly string[]): Ask[] {
  return paths.map((path, index) => ({ path, headers: { authorization: `Bearer ${keys[index % keys.length]}` } }));
}

/** The first requests, with the tags of their answers; undefined if the answers have no entity tag. */
export async function withCurrentCopies(origin: string, asks: readonly Ask[]): Promise<Ask[] | undefined> {
  const current: Ask[] = [];
  for (const { path, headers } of asks.slice(0, COPIES)) {
    const answer = await fetch(origin + path, { headers: { ...headers, 'accept-encoding': 'identity' } });
    await answer.arrayBuffer();
    const etag = answer.headers.get('etag');
    if (etag === null) return undefined;
    current.push({ path, headers: { ...headers, 'if-none-match': etag } });
  }
  const { path, headers } = current[0]!;
  const answer = await fetch(origin + path, { headers: { ...headers, 'accept-encoding': 'identity' } });
  if (answer.status !== 304) throw new Error(`${answer.status} where the client's copy of ${path} is current`);
  return current;
}

/** Microseconds of the server's processor per request, by kind, then by build. */
type ConstantFigures = ReadonlyMap<string, ReadonlyMap<string, Spread>>;

/** Measures this build, and the executable `before` in turns with it if one is given. */
export async function measureConstant(corpus: HttpCorpus, before: string | undefined): Promise<ConstantFigures> {
  using directory = temporaryDirectory();
  await using running = new AsyncDisposableStack();
  const servers: { readonly name: string; readonly origin: string; readonly pid: number }[] = [];
  const executables = [['this build', EXECUTABLE], ...(before === undefined ? [] : [['before', before]])] as const;
  for (const [name, executable] of executables) {
    const data = join(directory.path, name);
    cpSync(corpus.data, data, { recursive: true });
    servers.push({ name, ...running.use(await startServer(data, [], executable)) });
  }
  const figures = new Map<string, Map<string, Spread>>();
  for (const { name: kind, asksOf: asksAt } of constantKinds(corpus)) {
    const loads = [];
    for (const { name, origin, pid } of servers) {
      const asks = await asksAt(origin, corpus.keys);
      const requests = await writeRequests(directory.path, { name, origin, asks });
      const load = { origin, requests, first: 0, connections: CONNECTIONS };
      await runWrk({ ...load, seconds: WARM_UP_SECONDS });
      loads.push({ name, pid, load, micros: [] as number[] });
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { pid, load, micros } of round % 2 === 0 ? loads : loads.toReversed()) {
        const started = cpuSeconds(pid);
        const { answers } = await runWrk({ ...load, seconds: SECONDS });
        micros.push(((cpuSeconds(pid) - started) / answers) * 1e6);
      }
    }
    figures.set(kind, new Map(loads.map(({ name, micros }) => [name, spreadOf(micros)])));
  }
  return figures;
}

export function constantSection(figures: ConstantFigures): Section {
  const rows = [...figures].flatMap(([kind, builds]) =>
    [...builds].map(([build, micros]) => [`${kind}: ${build}`, shown(micros)]),
  );
  return {
    text: `## The constant part of a request

Processor time of the server, all of its threads, for answers that cost little else: 16 keep-alive connections, ${ROUNDS} rounds of ${SECONDS} s in turns after ${WARM_UP_SECONDS} s to warm up. \`make bench BEFORE=…\` measures an earlier executable too.

${table(['request', 'µs of processor'], rows)}`,
    goals: [...figures].map(([kind, builds]) => {
      const { median } = builds.get('this build')!;
      return {
        figure: `processor time of ${kind}`,
        required: `≤ ${MICROS_MAX} µs`,
        measured: `${figure(median)} µs`,
        met: median <= MICROS_MAX,
      };
    }),
  };
}
