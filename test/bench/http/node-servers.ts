import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { LeftOut, requiredProgram } from '../program.ts';
import { type Agreement, type Contender, plainAsk, stop } from './contender.ts';

const DIRECTORY = join(import.meta.dir, '..', 'contenders');
const LOCK = join(DIRECTORY, 'bun.lock');
/** The file that the installation writes last. */
const COMPILED = join(DIRECTORY, 'node_modules', 'better-sqlite3', 'build', 'Release', 'better_sqlite3.node');

/** Installs the contenders' pinned packages if they are missing or differ from the lock file. */
export async function installContenders(say: (line: string) => void): Promise<void> {
  if (existsSync(COMPILED) && statSync(COMPILED).mtimeMs >= statSync(LOCK).mtimeMs) return;
  const npm = requiredProgram('npm', 'nodejs npm');
  say('installing the contenders; better-sqlite3 may have to be compiled, which takes a minute or two');
  // Node runs the contenders, so npm compiles native modules for Node.
  const steps = [
    [process.execPath, 'install', '--frozen-lockfile', '--ignore-scripts'],
    [npm, 'rebuild', 'better-sqlite3'],
  ];
  for (const command of steps) {
    const child = Bun.spawn(command, { cwd: DIRECTORY, stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' });
    const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    if (code === 0) continue;
    throw new LeftOut(`\`${command.join(' ')}\` in test/bench/contenders failed: ${stderr.trim().split('\n').at(-1)}`);
  }
}

/** The installed version of one of these packages. */
export function packageVersion(name: string): string {
  const description = require(join(DIRECTORY, 'node_modules', name, 'package.json')) as { version: string };
  return description.version;
}

interface NodeServer {
  readonly name: string;
  readonly script: string;
  readonly args: readonly string[];
  readonly agreement: Agreement;
}

/** Runs a contender's script with Node until it is disposed; it loads the records and prints its address. */
export async function startNodeServer({ name, script, args, agreement }: NodeServer): Promise<Contender> {
  const child = Bun.spawn([requiredProgram('node', 'nodejs'), join(DIRECTORY, script), ...args], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let origin = '';
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    origin += chunk;
    if (origin.includes('\n')) break;
  }
  if (!origin.includes('\n')) throw new Error(`${script} ended`);
  return {
    name,
    origin: origin.trim(),
    agreement,
    ask: plainAsk,
    [Symbol.asyncDispose]: () => stop(child, 'SIGKILL'),
  };
}
