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

/** Starts a contender's script with Node; it loads the records and prints its address. */
export async function startNodeServer({ name, script, args, agreement }: NodeServer): Promise<Contender> {
  const server = contenderProcess(script, args);
  return {
    name,
    origin: await server.nextLine(),
    agreement,
    ask: plainAsk,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

interface ContenderProcess extends AsyncDisposable {
  write(text: string): void;
  /** The next line of its output. Throws if it ends before. */
  nextLine(): Promise<string>;
}

/** Runs one of these scripts with Node until it is disposed. */
export function contenderProcess(script: string, args: readonly string[]): ContenderProcess {
  const child = Bun.spawn([requiredProgram('node', 'nodejs'), join(DIRECTORY, script), ...args], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const chunks = child.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let buffered = '';
  return {
    write: (text) => {
      child.stdin.write(text);
      child.stdin.flush();
    },
    nextLine: async () => {
      while (!buffered.includes('\n')) {
        const { value, done } = await chunks.next();
        if (done) throw new Error(`${script} ended`);
        buffered += value;
      }
      const end = buffered.indexOf('\n');
      const line = buffered.slice(0, end);
      buffered = buffered.slice(end + 1);
      return line;
    },
    [Symbol.asyncDispose]: () => stop(child, 'SIGKILL'),
  };
}
