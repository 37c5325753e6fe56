import { readFileSync } from 'node:fs';
import { startChild } from './child.ts';
import { EXECUTABLE, type Finished } from './executable.ts';

export interface Watched extends Finished {
  /** The largest resident memory. */
  readonly peakBytes: number;
}

export interface WatchOptions {
  readonly cwd: string;
  /** Time until it is killed; its code is then 137. */
  readonly deadlineMs: number;
  /** Shell commands whose output the executable reads; by default it has no input. */
  readonly piped?: string;
}

const LOOK_EVERY_MS = 5;

/** Runs the executable to its end, or to the deadline, and watches its memory (in Linux's /proc). */
export async function runWatched(args: readonly string[], { cwd, deadlineMs, piped }: WatchOptions): Promise<Watched> {
  const command =
    piped === undefined ? [EXECUTABLE, ...args] : ['sh', '-c', `${piped} | "$0" "$@"`, EXECUTABLE, ...args];
  await using child = startChild(command, { cwd });
  const deadline = performance.now() + deadlineMs;
  let peakBytes = 0;
  let late = false;
  while (child.code === undefined && !late) {
    peakBytes = Math.max(peakBytes, ...[child.pid, ...childrenOf(child.pid)].map(peakOf));
    await Promise.race([child.exited, Bun.sleep(LOOK_EVERY_MS)]);
    late = performance.now() > deadline;
  }
  if (late) child.kill('SIGKILL');
  return { code: await child.exited, stdout: child.stdout(), stderr: child.stderr(), peakBytes };
}

function childrenOf(pid: number): number[] {
  return textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

function peakOf(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(textOf(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

/** Empty when the process has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
