import { join } from 'node:path';
import { residentBytes } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE, issueKey, printed } from '../support/executable.ts';

/** The executable with an archive of the simulated recordings, on a free port; its output goes to files. */
export interface SeededServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly child: Child;
  makeKey(tier: string, rpm?: number): Promise<{ readonly id: string; readonly key: string }>;
  revokeKey(id: string): Promise<void>;
  /** The process's resident memory. */
  residentBytes(): number;
}

export interface SeededServerOptions {
  /** Further flags of `serve`. */
  readonly args?: readonly string[];
  /** Flags of `export`: the server has only the records that they select, with their ids. */
  readonly window?: readonly string[];
}

export async function startSeededServer({ args = [], window }: SeededServerOptions = {}): Promise<SeededServer> {
  const directory = temporaryDirectory();
  const whole = join(directory.path, 'whole');
  const data = window === undefined ? whole : join(directory.path, 'window');
  await printed(['seed', '--data', whole]);
  if (window !== undefined) {
    const selected = join(directory.path, 'window.ndjson');
    await printed(['export', '--data', whole, ...window, '-o', selected]);
    await printed(['import', selected, '--data', data]);
  }
  const child = startChild([EXECUTABLE, 'serve', '--data', data, '--port', '0', '--json', ...args]);
  const [, origin = ''] = await child.said(/"address":\s*"([^"]+)"/);
  return {
    origin,
    port: Number(new URL(origin).port),
    child,
    makeKey: (tier, rpm) => issueKey(data, tier, rpm),
    async revokeKey(id) {
      await printed(['key', 'revoke', id, '--data', data]);
    },
    residentBytes: () => residentBytes(child.pid),
    async [Symbol.asyncDispose]() {
      await child[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}
