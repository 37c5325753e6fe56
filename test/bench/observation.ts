import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { cpuSeconds } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE } from '../support/executable.ts';
import type { HttpCorpus } from './http/corpus.ts';
import { writeRequests } from './http/trial.ts';
import { type Load, runWrk } from './http/wrk.ts';
import { type Section, shown, table } from './report.ts';
import { type Spread, spreadOf } from './rounds.ts';

const ROUNDS = 9;
const SECONDS = 4;
const WARM_UP_SECONDS = 2;
const CONNECTIONS = 16;
const KIND = 'nearest';
const MICROS_MAX = 3;

/** Arguments of `serve` by the name of what they turn on. */
const VARIANTS: Readonly<Record<string, readonly string[]>> = {
  neither: [],
  metrics: ['--metrics-port', '0'],
  'access log': ['--access-log', 'on'],
  both: ['--metrics-port', '0', '--access-log', 'on'],
};

interface Measured {
  readonly name: string;
  readonly pid: number;
  readonly load: Omit<Load, 'first' | 'seconds'>;
  /** One value per round. */
  readonly micros: number[];
}

interface ObservationFigures {
  /** Microseconds of CPU per request by variant. */
  readonly micros: ReadonlyMap<string, Spread>;
  /** The same beyond that of `neither` in the same round. */
  readonly more: ReadonlyMap<string, Spread>;
}

/** Measures the CPU time that metrics and the access log take of each request. */
export async function measureObservation(corpus: HttpCorpus, say: (line: string) => void): Promise<ObservationFigures> {
  using directory = temporaryDirectory();
  await using running = new AsyncDisposableStack();
  const paths = corpus.kinds.find(({ name }) => name === KIND)!.paths;
  const servers: Measured[] = [];
  for (const [name, args] of Object.entries(VARIANTS)) {
    const data = join(directory.path, name);
    cpSync(corpus.data, data, { recursive: true });
    const { origin, pid } = running.use(await startUnreadServer(data, args));
    const asks = paths.map((path, index) => ({
      path,
      headers: { authorization: `Bearer ${corpus.keys[index % corpus.keys.length]}` },
    }));
    const requests = await writeRequests(directory.path, { name, origin, asks });
    const load = { origin, requests, connections: CONNECTIONS };
    await runWrk({ ...load, first: 0, seconds: WARM_UP_SECONDS });
    servers.push({ name, pid, load, micros: [] });
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const turn = round % servers.length;
    const first = Math.floor((paths.length * round) / ROUNDS);
    for (const { name, pid, load, micros } of [...servers.slice(turn), ...servers.slice(0, turn)]) {
      const before = cpuSeconds(pid);
      const { answers } = await runWrk({ ...load, first, seconds: SECONDS });
      micros.push(((cpuSeconds(pid) - before) / answers) * 1e6);
      say(`  ${name}: ${micros.at(-1)!.toFixed(2)} µs`);
    }
  }
  const [base] = servers;
  const spreads = (of: (micros: readonly number[]) => number[]) =>
    new Map(servers.map(({ name, micros }): [string, Spread] => [name, spreadOf(of(micros))]));
  return {
    micros: spreads((micros) => [...micros]),
    more: spreads((micros) => micros.map((one, round) => one - base!.micros[round]!)),
  };
}

/** A server whose log is read and thrown away. */
async function startUnreadServer(data: string, args: readonly string[]) {
  const server = Bun.spawn([EXECUTABLE, 'serve', '--data', data, '--port', '0', '--json', ...args], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  void server.stderr.pipeTo(new WritableStream());
  let printed = '';
  const decoder = new TextDecoder();
  for await (const chunk of server.stdout) {
    printed += decoder.decode(chunk, { stream: true });
    if (printed.trimEnd().endsWith('}')) break;
  }
  return {
    origin: (JSON.parse(printed) as { address: string }).address,
    pid: server.pid,
    [Symbol.asyncDispose]: async () => {
      server.kill('SIGKILL');
      await server.exited;
    },
  };
}

export function observationSection({ micros, more }: ObservationFigures): Section {
  const rows = [...micros].map(([name, spread]) => [
    name,
    shown(spread),
    name === 'neither' ? '' : shown(more.get(name)!),
  ]);
  const both = more.get('both')!.median;
  return {
    text: `## Metrics and the access log

CPU time of the server per request (${KIND}, ${CONNECTIONS} connections), ${ROUNDS} rounds of ${SECONDS} s in changing order. The difference is to the server without both in the same round. The log is a pipe that another process reads.

${table(['turned on', 'µs of CPU per request', 'more than without'], rows)}`,
    goals: [
      {
        figure: 'CPU of metrics and access log per request',
        required: `≤ ${MICROS_MAX} µs`,
        measured: `${both.toFixed(2)} µs`,
        met: both <= MICROS_MAX,
      },
    ],
  };
}
