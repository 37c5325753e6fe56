import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './archive.ts';
import { runCommand } from './command.ts';
import { type Finished, runExecutable, startServer } from './executable.ts';
import { LIGHT_MARKET, lightNdjson } from './light-recording.ts';

/** A working directory with the archive `data` in it, `count` snapshots and one key. */
export interface Workspace extends Disposable {
  readonly path: string;
  readonly key: string;
  run(...args: string[]): Promise<Finished>;
  file(name: string): string;
  names(directory?: string): string[];
}

/** Makes workspaces. Those of equal counts are copies: they have the same key and key secret. */
export class BackupWorkspaces implements AsyncDisposable {
  readonly #originals = new Map<number, Promise<Workspace>>();

  async archiveOf(count: number): Promise<Workspace> {
    const { file, key } = await this.#originals.getOrInsertComputed(count, () => originalOf(count));
    const copy = emptyWorkspace(key);
    cpSync(file('data'), copy.file('data'), { recursive: true });
    return copy;
  }

  /** An archive `data` and its backup `copy`. */
  async withBackup(count = 40): Promise<Workspace> {
    const workspace = await this.archiveOf(count);
    const { code, stderr } = await workspace.run('backup', 'copy', '--data', 'data');
    if (code !== 0) throw new Error(stderr);
    return workspace;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const original of this.#originals.values()) (await original)[Symbol.dispose]();
  }
}

async function originalOf(count: number): Promise<Workspace> {
  const workspace = emptyWorkspace('');
  const imported = await runExecutable(['import', '-', '--data', 'data'], {
    cwd: workspace.path,
    stdin: lightNdjson(count),
  });
  if (imported.code !== 0) throw new Error(imported.stderr);
  const key = (await workspace.run('key', 'create', '--tier', 'enterprise', '--data', 'data')).stdout.trim();
  return { ...workspace, key };
}

function emptyWorkspace(key: string): Workspace {
  const directory = temporaryDirectory();
  const cwd = directory.path;
  return {
    path: cwd,
    key,
    run: (...args) => runCommand(args, { cwd }),
    file: (name) => join(cwd, name),
    names: (name = '.') => readdirSync(join(cwd, name)).sort(),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

export async function isServedTo(data: string, key: string): Promise<boolean> {
  await using server = await startServer(data);
  const headers = { authorization: `Bearer ${key}` };
  const { status } = await fetch(`${server.origin}/v1/btc/markets/${LIGHT_MARKET.slug}/snapshots`, { headers });
  return status === 200;
}
