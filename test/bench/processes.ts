import { availableParallelism } from 'node:os';
import type { HttpCorpus } from './http/corpus.ts';
import { measureServers, SECONDS, type ServerFigures } from './http/servers.ts';
import { ratioGoal, type Section, shown, table, times } from './report.ts';
import { ROUNDS } from './rounds.ts';

/** Fewer connections are divided unevenly. */
const CONNECTIONS = 64;
const KINDS = ['nearest', 'page of 100'];
const RATIO_MIN = 1.5;
const [ONE, TWO] = ['1 process', '2 processes'];

/** Measures servers of one process and of two in turns. */
export function measureProcesses(corpus: HttpCorpus): Promise<ServerFigures> {
  const variants = [ONE!, TWO!].map((name) => ({ name, args: ['--processes', name[0]!] }));
  return measureServers(corpus, KINDS, variants, CONNECTIONS);
}

export function processesSection(figures: ServerFigures): Section {
  const measured = [...figures].flatMap(([kind, servers]) => {
    const one = servers.get(ONE!)!;
    return [...servers].map(([name, each]) => {
      const ratio = each.requestsPerSecond.median / one.requestsPerSecond.median;
      // Microseconds a second that both programs have used, of those that the machine has.
      const used = each.requestsPerSecond.median * (each.micros.median + each.clientMicros.median);
      return { kind, name, each, ratio, busy: used / (availableParallelism() * 1e6) };
    });
  });
  const rows = measured.map(({ kind, name, each, ratio, busy }) => [
    `${kind}: ${name}`,
    shown(each.requestsPerSecond),
    times(ratio),
    shown(each.micros),
    shown(each.clientMicros),
    `${(100 * busy).toFixed(0)} %`,
  ]);
  return {
    text: `## Processes

One process and two in turns: ${CONNECTIONS} keep-alive connections, ${ROUNDS} rounds of ${SECONDS} s. The processor of the server is that of all its processes. wrk is one more thread on
the same ${availableParallelism()} processors, and its time is measured like the server's. The last column is what both used of the machine. One process and wrk
have a processor each; two processes and wrk share two, so what wrk takes is missing there. If those are two hyperthreads of one core,
a microsecond of each is worth less while the other one works, and the processor for a request grows although the work is the same.

${table(['request', 'requests a second', 'to one process', 'µs of the server', 'µs of wrk', 'machine used'], rows)}`,
    goals: measured
      .filter(({ name }) => name === TWO)
      .map(({ kind, ratio }) => ratioGoal(`${kind} of two processes, to one`, ratio, RATIO_MIN)),
  };
}
