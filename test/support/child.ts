import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ChildOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A process whose output goes to files: it never waits for a reader, and tests can search all of its output. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  readonly exited: Promise<number>;
  /** Undefined while it runs; 128 and the number of the signal that ended it. */
  readonly code: number | undefined;
  stdout(): string;
  stderr(): string;
  /** Waits until its standard output matches; throws when it ends without a match. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
}

const POLL_MS = 5;
/** Variables for the process of a test only: settings of bookreel, and those with which `make test` saves processor time. */
export const OWN_VARIABLES = /^(?:BOOKREEL|BUN_JSC|MIMALLOC)_/;

/** Starts `command` without the variables that are for this process only. */
export function startChild(command: readonly string[], options: ChildOptions = {}): Child {
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-child-'));
  const out = join(directory, 'stdout');
  const err = join(directory, 'stderr');
  const inherited = Object.entries(process.env).filter(([name]) => !OWN_VARIABLES.test(name));
  const child = Bun.spawn([...command], {
    env: { ...Object.fromEntries(inherited), ...options.env },
    stdin: 'ignore',
    stdout: Bun.file(out),
    stderr: Bun.file(err),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const stdout = () => readFileSync(out, 'utf8');
  const stderr = () => readFileSync(err, 'utf8');
  return {
    pid: child.pid,
    exited: child.exited,
    get code() {
      const { exitCode, signalCode } = child;
      return exitCode ?? (signalCode === null ? undefined : 128 + constants.signals[signalCode as NodeJS.Signals]);
    },
    stdout,
    stderr,
    said: async (pattern) => {
      for (;;) {
        const ended = child.exitCode !== null || child.signalCode !== null;
        const found = pattern.exec(stdout());
        if (found !== null) return found;
        if (ended) throw new Error(`the process ended without ${pattern}: ${stdout()}${stderr()}`);
        await Bun.sleep(POLL_MS);
      }
    },
    kill: (signal) => child.kill(signal),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
