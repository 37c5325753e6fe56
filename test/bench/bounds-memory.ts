import { readFileSync } from 'node:fs';

const KIB = 1024;

/** Bytes of a process that are in memory. */
export interface Memory {
  /** All of them. */
  readonly resident: number;
  /** What it shares with others, as the pages of a file, counted by its share. */
  readonly proportional: number;
}

/** Linux only. */
export function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)![1]) * KIB;
  return { resident: bytes('Rss'), proportional: bytes('Pss') };
}

/** Cheaper to ask for than `memoryOf`, again and again. */
export function residentBytesOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * KIB;
}
