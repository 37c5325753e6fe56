import { readFileSync } from 'node:fs';

const FAKETIME_LIBRARIES = '/usr/lib/*/faketime/libfaketimeMT.so.1';
/** proc(5): the 14th and 15th values are clock ticks of user and system time; the text in brackets may contain spaces. */
const USER_TICKS = 11;
const TICKS_PER_SECOND = 100;

/** The library that gives a process another wall clock; undefined if it is not installed. */
export function faketimeLibrary(): string | undefined {
  return [...new Bun.Glob(FAKETIME_LIBRARIES).scanSync('/')][0];
}

/** Resident memory in bytes, from /proc. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

/** Resident memory without mapped files: the mapped part of the executable depends on the machine's page cache. */
export function ownBytes(pid: number): number {
  return Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

/** Resident memory, of which a page that several processes share is counted in parts. */
export function proportionalBytes(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) * 1024;
}

/** Processor time so far. */
export function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const values = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(values[USER_TICKS]) + Number(values[USER_TICKS + 1])) / TICKS_PER_SECOND;
}

/** Number of files that a process may have open at once. */
export function filesMax(): number {
  return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 0);
}
