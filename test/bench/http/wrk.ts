import { join } from 'node:path';
import { requiredProgram } from '../program.ts';
import { stolenShare, ticks } from './stolen.ts';

const SCRIPT = join(import.meta.dir, 'load.lua');
/** Longer than any answer takes under load: a time-out is a failure. */
const TIMEOUT = '30s';
/** A turn during which the machine's host gave more of its time to others says nothing: it is repeated. */
const STOLEN_MAX = 0.05;
const ATTEMPTS_MAX = 4;

export interface Load {
  readonly origin: string;
  /** Whole HTTP requests with a NUL behind each; `first` says with which to begin. */
  readonly requests: string;
  readonly first: number;
  readonly seconds: number;
  readonly connections: number;
}

/** What one run of wrk counted. */
export interface Counted {
  readonly answers: number;
  readonly requestsPerSecond: number;
  /** Of an answer with its headers, in the mean. */
  readonly bytes: number;
}

/** A run, and how often it was repeated before because the machine was not itself. */
export interface Turn extends Counted {
  readonly repeats: number;
}

/** Runs a load again, a few times at most, as long as the machine's host takes more than a little of its time away. */
export async function takeTurn(load: Load): Promise<Turn> {
  for (let repeats = 0; ; repeats += 1) {
    const before = ticks();
    const counted = await runWrk(load);
    if (stolenShare(before, ticks()) <= STOLEN_MAX || repeats + 1 === ATTEMPTS_MAX) return { ...counted, repeats };
  }
}

/** What is said of such turns beside figures. */
export function repeatsSentence(turns: number, repeats: number): string {
  return `A turn during which the machine's host gave more than ${STOLEN_MAX * 100} % of its time to others was taken again, ${ATTEMPTS_MAX - 1} times at most: ${repeats} times for ${turns} turns.`;
}

/** Runs wrk with one thread, as fast as answers come. Throws when any answer was an error; a short run may have none at all. */
export async function runWrk(load: Load): Promise<Counted> {
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
  return countedOf(stdout);
}

/** What `load.lua` printed at the end of a run. */
export function countedOf(printed: string): Counted {
  const line = /^load (\{.*\})$/m.exec(printed)?.[1];
  if (line === undefined) throw new Error(`wrk printed no counts: ${printed}`);
  const counts = JSON.parse(line) as Record<'answers' | 'failed' | 'bytes' | 'micros', number>;
  const { answers, failed, bytes, micros } = counts;
  if (failed > 0) throw new Error(`${failed} of ${answers} requests failed`);
  return { answers, requestsPerSecond: (answers / micros) * 1e6, bytes: answers === 0 ? 0 : bytes / answers };
}
