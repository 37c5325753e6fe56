import { expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { processCount, processesFor, resources } from '../../src/cli/process-count.ts';
import { temporaryDirectory } from '../support/archive.ts';

const GB = 1e9;

test.each([
  [{ cores: 8, quota: undefined, memoryBytes: 8 * GB }, 8],
  [{ cores: 8, quota: 3, memoryBytes: 8 * GB }, 3],
  [{ cores: 8, quota: 2.9, memoryBytes: 8 * GB }, 2],
  [{ cores: 8, quota: 0.5, memoryBytes: 8 * GB }, 1],
  [{ cores: 2, quota: 4, memoryBytes: 8 * GB }, 2],
  [{ cores: 8, quota: undefined, memoryBytes: 1 * GB }, 4],
  [{ cores: 8, quota: undefined, memoryBytes: 0.5 * GB }, 1],
  [{ cores: 8, quota: undefined, memoryBytes: 0.1 * GB }, 1],
])(
  '`auto` is one process for each core of the quota, and never more than have 150 MB each, with two to spare. (%p: %i)',
  (found, count) => {
    expect(processesFor(found)).toBe(count);
  },
);

test('Limits of the control group, and of those above it, count.', () => {
  using directory = temporaryDirectory();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(directory.path, path)), { recursive: true });
    writeFileSync(join(directory.path, path), text);
    return join(directory.path, path);
  };
  const own = write('self', '1:cpu:/old\n0::/system.slice/bookreel.service\n');
  const found = () => resources(join(directory.path, 'cgroup'), own);
  const free = { cores: availableParallelism(), quota: undefined, memoryBytes: totalmem() };
  expect(found()).toEqual(free);
  write('cgroup/system.slice/bookreel.service/cpu.max', 'max 100000\n');
  write('cgroup/system.slice/bookreel.service/memory.max', 'max\n');
  expect(found()).toEqual(free);
  write('cgroup/system.slice/bookreel.service/cpu.max', '350000 100000\n');
  write('cgroup/system.slice/cpu.max', '150000 100000\n');
  write('cgroup/memory.max', '300000000\n');
  expect(found()).toEqual({ ...free, quota: 1.5, memoryBytes: 300_000_000 });
  expect(resources('/nowhere', '/nowhere')).toEqual(free);
});

test('Several processes need Linux, and a demo has one; `auto` is one there.', () => {
  expect(() => processCount({ processes: 2 }, 'darwin')).toThrow(
    '--processes 2 needs Linux, which divides the connections of a port: leave it out, and one process answers all requests',
  );
  expect(processCount({ processes: 'auto' }, 'darwin')).toBe(1);
  expect(processCount({ processes: 1 }, 'darwin')).toBe(1);
  expect(() => processCount({ processes: 2, demo: true }, 'linux')).toThrow('--demo is served by one process');
  expect(processCount({ processes: 'auto', demo: true }, 'linux')).toBe(1);
  expect(processCount({ processes: 7 }, 'linux')).toBe(7);
});

test('Payments are served by one process, since each would try a transfer again; `auto` is one there.', () => {
  const payments = 'payments.json';
  expect(() => processCount({ processes: 2, payments }, 'linux')).toThrow(
    '--payments are served by one process: leave --processes 2 out',
  );
  expect(processCount({ processes: 'auto', payments }, 'linux')).toBe(1);
  expect(processCount({ processes: 1, payments }, 'linux')).toBe(1);
});
