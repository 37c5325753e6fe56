import { availableParallelism, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { DomainError } from '../domain/errors.ts';
import { textOf } from './listening-sockets.ts';

/** The memory that a process may need under load. */
const PROCESS_BYTES = 150e6;
/** The one that starts the others, and one that takes the place of another. */
const FURTHER_PROCESSES = 2;
const GROUPS = '/sys/fs/cgroup';

export interface ProcessOptions {
  readonly processes: number | 'auto';
  readonly demo?: boolean | undefined;
  readonly payments?: string | undefined;
}

/**
 * The number of processes for these settings. `auto`: the processor time that the control group of this process allows, in whole cores, or
 * else the number of cores; but not more than fit in the memory. Throws 'invalid-parameter' for several processes where one port cannot be
 * divided between them, for a demo, and with payments: each process would send a transfer again that another one has just sent.
 */
export function processCount(options: ProcessOptions, platform = process.platform): number {
  const { processes, demo = false, payments } = options;
  const isOne = platform !== 'linux' || demo || payments !== undefined;
  if (processes === 'auto') return isOne ? 1 : processesFor(resources());
  if (processes === 1 || !isOne) return processes;
  throw new DomainError(
    'invalid-parameter',
    platform === 'linux'
      ? `${demo ? '--demo is' : '--payments are'} served by one process: leave --processes ${processes} out`
      : `--processes ${processes} needs Linux, which divides the connections of a port: leave it out, and one process answers all requests`,
  );
}

interface Resources {
  readonly cores: number;
  /** In cores; undefined: no limit. */
  readonly quota: number | undefined;
  readonly memoryBytes: number;
}

export function processesFor({ cores, quota = cores, memoryBytes }: Resources): number {
  return Math.max(1, Math.min(Math.floor(quota), cores, Math.floor(memoryBytes / PROCESS_BYTES) - FURTHER_PROCESSES));
}

/** The cores and the memory that this process may use, by the limits of its control group and of those above it. */
export function resources(root = GROUPS, own = '/proc/self/cgroup'): Resources {
  const group = /^0::(\/.*)$/m.exec(textOf(own))?.[1] ?? '/';
  const groups: string[] = [];
  for (let path = group; ; path = dirname(path)) {
    groups.push(join(root, path));
    if (path === '/') break;
  }
  const quotas = groups.flatMap((path) => {
    const [, quota, period] = /^(\d+) (\d+)$/m.exec(textOf(join(path, 'cpu.max'))) ?? [];
    return quota === undefined ? [] : [Number(quota) / Number(period)];
  });
  const limits = groups.flatMap((path) => {
    const [limit] = /^\d+$/m.exec(textOf(join(path, 'memory.max'))) ?? [];
    return limit === undefined ? [] : [Number(limit)];
  });
  return {
    cores: availableParallelism(),
    quota: quotas.length === 0 ? undefined : Math.min(...quotas),
    memoryBytes: Math.min(totalmem(), ...limits),
  };
}
