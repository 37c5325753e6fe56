import { existsSync, readFileSync } from 'node:fs';

const STAT = '/proc/stat';
/** Columns of its first line after `cpu`, all in ticks (proc_stat(5)): user nice system idle iowait irq softirq steal. */
const STEAL = 7;
const COLUMNS = 8;

/** Ticks of all processors since boot: in total, and those that the host gave to other machines. */
export interface Ticks {
  readonly all: number;
  readonly stolen: number;
}

/** Zeros if the system has no such figures. */
export function ticks(text: string = existsSync(STAT) ? readFileSync(STAT, 'utf8') : ''): Ticks {
  const columns = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '').split(' ').slice(0, COLUMNS).map(Number);
  return { all: columns.reduce((sum, value) => sum + value, 0), stolen: columns[STEAL] ?? 0 };
}

/** The share of the time between two readings that the host gave to other machines, 0 to 1. */
export function stolenShare(before: Ticks, after: Ticks): number {
  return after.all === before.all ? 0 : (after.stolen - before.stolen) / (after.all - before.all);
}
