import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE, runExecutable } from '../support/executable.ts';

/** The executable over an archive of the simulated recordings, on a free port; all that it says goes to files. */
export interface SeededServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly child: Child;
  makeKey(tier: string, rpm?: number): Promise<{ readonly id: string; readonly key: string }>;
  revokeKey(id: string): Promise<void>;
  /** Resident memory of the process. */
  residentBytes(): number;
}

export interface SeededServerOptions {
  /** Further flags of `serve`. */
  readonly args?: readonly string[];
  /** Flags of `export`: only what they select is served, with the ids it has in the whole. */
  readonly window?: readonly string[];
}

export async function startSeededServer({ args = [], window }: SeededServerOptions = {}): Promise<SeededServer> {
  const directory = temporaryDirectory();
  const whole = ['--data', join(directory.path, 'whole')];
  const data = window === undefined ? whole : ['--data', join(directory.path, 'window')];
  const run = (...command: string[]) => succeed([...command, ...data]);
  await succeed(['seed', ...whole]);
  if (window !== undefined) {
    const selected = join(directory.path, 'window.ndjson');
    await succeed(['export', ...whole, ...window, '-o', selected]);
    await run('import', selected);
  }
  const child = startChild([EXECUTABLE, 'serve', ...data, '--port', '0', '--json', ...args]);
  const [, origin = ''] = await child.said(/"address":\s*"([^"]+)"/);
  return {
    origin,
    port: Number(new URL(origin).port),
    child,
    async makeKey(tier, rpm) {
      const limit = rpm === undefined ? [] : ['--rpm', String(rpm)];
      return JSON.parse(await run('key', 'create', '--tier', tier, '--json', ...limit)) as { id: string; key: string };
    },
    async revokeKey(id) {
      await run('key', 'revoke', id);
    },
    residentBytes: () => residentBytesOf(child.pid),
    async [Symbol.asyncDispose]() {
      await child[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}

async function succeed(command: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runExecutable(command);
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

/** proc(5): VmRSS in kB. */
function residentBytesOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
