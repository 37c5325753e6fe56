import { join } from 'node:path';
import { requiredProgram } from '../program.ts';
import { stolenShare, ticks } from './stolen.ts';

const SCRIPT = join(import.meta.dir, 'load.lua');
/** Longer than any answer under load, because a time-out is a failure. */
const TIMEOUT = '30s';
/** Maximum share of time that the machine's host may give to others. Beyond it, a turn is repeated. */
const STOLEN_MAX = 0.05;
const ATTEMPTS_MAX = 4;

export interface Load {
  readonly origin: string;
  /** A file of whole HTTP requests, each followed by a NUL; `first` is the index of the first one to send. */
  readonly requests: string;
  readonly first: number;
  readonly seconds: number;
  readonly connections: number;
}

/** Counts of one run of wrk. */
export interface Counted {
  readonly answers: number;
  readonly requestsPerSecond: number;
  /** Mean bytes of an answer with its headers. */
  readonly bytes: number;
}

/** A run, and the number of repetitions before it because the host took time. */
export interface Turn extends Counted {
  readonly repeats: number;
}

/** Repeats a load, a few times at most, until the machine's host takes little of its time. */
export async function takeTurn(load: Load): Promise<Turn> {
  for (let repeats = 0; ; repeats += 1) {
    const before = ticks();
    const counted = await runWrk(load);
    if (stolenShare(before, ticks()) <= STOLEN_MAX || repeats + 1 === ATTEMPTS_MAX) return { ...counted, repeats };
  }
}

/** The sentence about such turns for the results. */
export function repeatsSentence(turns: number, repeats: number): string {
  return `A turn in which the machine's host gave more than ${STOLEN_MAX * 100} % of the time to others is repeated, at most ${ATTEMPTS_MAX - 1} times: ${repeats} repetitions in ${turns} turns.`;
}

/** Runs wrk with one thread at full speed. `clientSeconds`: the processor time of wrk, its start included. Throws if an answer is an error; a short run may have no answers. */
export async function runWrk(load: Load): Promise<Counted & { readonly clientSeconds: number }> {
  const { origin, requests, first, seconds, connections } = load;
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', TIMEOUT, '-s', SCRIPT, origin];
  const wrk = Bun.spawn([requiredProgram('wrk', 'wrk'), ...options, '--', requests, String(first)], {
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(wrk.stdout).text(),
    new Response(wrk.stderr).text(),
    wrk.exited,
  ]);
  if (code !== 0) throw new Error(`wrk ended with ${code}: ${stderr}`);
  const { user, system } = wrk.resourceUsage()!.cpuTime;
  return { ...countedOf(stdout), clientSeconds: Number(user + system) / 1e6 };
}

/** The counts that `load.lua` prints at the end of a run. */
export function countedOf(printed: string): Counted {
  const line = /^load (\{.*\})$/m.exec(printed)?.[1];
  if (line === undefined) throw new Error(`wrk printed no counts: ${printed}`);
  const counts = JSON.parse(line) as Record<'answers' | 'failed' | 'bytes' | 'micros', number>;
  const { answers, failed, bytes, micros } = counts;
  if (failed > 0) throw new Error(`${failed} of ${answers} requests failed`);
  return { answers, requestsPerSecond: (answers / micros) * 1e6, bytes: answers === 0 ? 0 : bytes / answers };
}
