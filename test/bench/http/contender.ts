import type { Kind } from './corpus.ts';

/** One request. */
export interface Ask {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The part of an answer that must equal bookreel's: all bytes, or the values except the cursor, whose format is each service's own. */
export type Agreement = 'bytes' | 'values';

/** A running server with the same records. */
export interface Contender extends AsyncDisposable {
  readonly name: string;
  readonly origin: string;
  readonly agreement: Agreement;
  ask(kind: Kind, index: number): Ask;
}

/** Requests a path without a key. */
export function plainAsk({ paths }: Kind, index: number): Ask {
  return { path: paths[index % paths.length]!, headers: {} };
}

const POLL_MS = 50;
const START_MS_MAX = 30_000;

/** Waits until `ready` returns true. Throws after a time limit, or if the process ends before. */
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
