import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { OPERATOR_EMAIL } from '../../src/domain/account.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { OWN_VARIABLES } from './child.ts';

const ROOT = join(import.meta.dir, '..', '..');

/** The executable under test: `make build` writes it; BOOKREEL_BINARY names another. */
export const EXECUTABLE = process.env.BOOKREEL_BINARY ?? join(ROOT, 'dist', 'bookreel');

/** Whether it was built: quick tests that need it are skipped otherwise. */
export const HAS_EXECUTABLE = existsSync(EXECUTABLE);

/** Starts a program of its own on Bun without bunfig.toml, whose preload would bundle the scripts of all pages first. */
export const BUN: readonly string[] = [process.execPath, '--config=/dev/null'];

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Another one than the executable under test. */
  readonly executable?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
}

/** Runs one command of the executable to its end, without the variables that are for this process only. */
export async function runExecutable(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { executable = EXECUTABLE, env, ...others } = options;
  return await finished([executable, ...args], { ...others, env: environment(env) });
}

/** Runs any command to its end, with the given environment only. */
export async function finished(
  command: readonly string[],
  { cwd = ROOT, env = {}, stdin }: Omit<RunOptions, 'executable'>,
): Promise<Finished> {
  const process = Bun.spawn([...command], {
    cwd,
    env,
    stdin: stdin === undefined ? 'ignore' : Buffer.from(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(process.stdout).text(),
    new Response(process.stderr).text(),
    process.exited,
  ]);
  return { code, stdout, stderr };
}

/** The standard output of a command of the executable; throws when the command fails. */
export async function printed(args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await runExecutable(args, options);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

/** Creates a key for an archive, by default with access to everything and a high limit. It does so in this process. */
export async function issueKey(
  data: string,
  tier = 'enterprise',
  rpm = 1_000_000,
): Promise<{ readonly id: string; readonly key: string }> {
  using registry = openRegistry(data, { create: true });
  const request = { account: OPERATOR_EMAIL, name: undefined, tier, requestsPerMinute: rpm };
  const { apiKey, key } = createKey(registry, Date.now(), request);
  return { id: apiKey.id, key };
}

export interface RunningServer extends AsyncDisposable {
  readonly origin: string;
  readonly pid: number;
  /** Everything on stderr; settles at the end. */
  readonly log: Promise<string>;
  /** Sends a signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number>;
}

/** Starts `serve` on a free port and waits until it prints its address. */
export async function startServer(
  data: string,
  args: readonly string[] = [],
  executable = EXECUTABLE,
): Promise<RunningServer> {
  const server = Bun.spawn([executable, 'serve', '--data', data, '--port', '0', '--json', ...args], {
    env: environment(),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const log = new Response(server.stderr).text();
  let printed = '';
  const decoder = new TextDecoder();
  for await (const chunk of server.stdout) {
    printed += decoder.decode(chunk, { stream: true });
    if (printed.trimEnd().endsWith('}')) break;
  }
  if (printed === '') throw new Error(`serve did not start: ${await log}`);
  const { address } = JSON.parse(printed) as { address: string };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    server.kill(signal);
    return await server.exited;
  };
  return {
    origin: address,
    pid: server.pid,
    log,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop('SIGKILL')),
  };
}

function environment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !OWN_VARIABLES.test(entry[0]),
  );
  return { ...Object.fromEntries(inherited), ...extra };
}
