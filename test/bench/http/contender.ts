import type { Kind } from './corpus.ts';

/** One request as it is sent. */
export interface Ask {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * How much of an answer must be as bookreel sends it: all its bytes; all but the cursor, of which every service has its own
 * form; or the values.
 */
export type Agreement = 'bytes' | 'bytes but the cursor' | 'values';

/** A running server of the same records. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  readonly origin: string;
  readonly agreement: Agreement;
  ask(kind: Kind, index: number): Ask;
}

/** Asks a path as every client without a key would. */
export function plainAsk({ paths }: Kind, index: number): Ask {
  return { path: paths[index % paths.length]!, headers: {} };
}

const POLL_MS = 50;
const START_MS_MAX = 30_000;

/** Waits until `ready` says so; throws when it takes too long or the process ends before. */
export async function started(
  name: string,
  child: Bun.Subprocess,
  ready: () => boolean | Promise<boolean>,
): Promise<void> {
  for (const beganMs = performance.now(); performance.now() - beganMs < START_MS_MAX; await Bun.sleep(POLL_MS)) {
    if (child.exitCode !== null) break;
    if (await ready()) return;
  }
  throw new Error(`${name} did not start`);
}

export async function stop(child: Bun.Subprocess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await child.exited;
}
