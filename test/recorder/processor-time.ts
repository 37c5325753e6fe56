import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks of Linux per second, of /proc. */
const TICKS = 100;
const FIRST_FIELD = 3;

/** The processor time of a process and its children that run, in seconds. */
export function processorSeconds(pid: number): number {
  let ticks = 0;
  for (const one of [pid, ...childrenOf(pid)]) {
    const fields = statOf(one);
    // utime and stime are the fields 14 and 15.
    ticks += Number(fields[14 - FIRST_FIELD] ?? 0) + Number(fields[15 - FIRST_FIELD] ?? 0);
  }
  return ticks / TICKS;
}

/** The memory that a process holds now, in MB, and that of its children together: pages that several share count in parts (PSS). */
export function heldMegabytes(pid: number): readonly [own: number, children: number] {
  const heldBy = (one: number) => {
    const kilobytes = /^Pss:\s+(\d+)/m.exec(textOf(`/proc/${one}/smaps_rollup`))?.[1];
    return Number(kilobytes ?? 0) / 1024;
  };
  return [heldBy(pid), childrenOf(pid).reduce((sum, child) => sum + heldBy(child), 0)];
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(statOf(Number(name))[1]) === pid)
    .map(Number);
}

/** The fields of /proc/PID/stat from the third one on, which follow the name in parentheses. */
function statOf(pid: number): string[] {
  const text = textOf(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}
