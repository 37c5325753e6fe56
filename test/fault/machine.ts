import { readFileSync } from 'node:fs';

const FAKETIME_LIBRARIES = '/usr/lib/*/faketime/libfaketimeMT.so.1';
/** From proc(5): clock ticks of user and system time are the 14th and 15th value; what is in brackets may hold spaces. */
const USER_TICKS = 11;
const TICKS_PER_SECOND = 100;

/** The library that gives a process another wall clock; undefined where it is not installed. */
export function faketimeLibrary(): string | undefined {
  return [...new Bun.Glob(FAKETIME_LIBRARIES).scanSync('/')][0];
}

/** Memory that is resident, in bytes, as Linux keeps it in /proc. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

/** The part of it that no file backs: how much of the executable is mapped depends on the machine's page cache. */
export function ownBytes(pid: number): number {
  return Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}

/** Processor time used so far. */
export function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const values = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(values[USER_TICKS]) + Number(values[USER_TICKS + 1])) / TICKS_PER_SECOND;
}

/** How many files a process may have open at once. */
export function filesMax(): number {
  return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 0);
}
