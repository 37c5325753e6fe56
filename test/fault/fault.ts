import { test } from 'bun:test';
import { appendFileSync } from 'node:fs';

/** One fault, told to the executable while it serves. */
interface Fault {
  /** What is done to it. */
  readonly what: string;
  /** What must come of it. */
  readonly expected: string;
  /** What this machine lacks for it, in words; undefined when it has everything. */
  readonly lacks?: string | undefined;
  /** Takes more than a few seconds: runs with `make fault` only. */
  readonly long?: boolean;
}

/** What one fault came to, a line of JSON each in the file that BOOKREEL_FAULT_RESULTS names. */
export interface FaultResult {
  readonly what: string;
  readonly expected: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seen: string;
}

const DEADLINE_MS = 300_000;
const SEEN_CHARS_MAX = 300;

/** A test that says what it saw. `run` throws when that is not what was expected. */
export function fault({ what, expected, lacks, long = false }: Fault, run: () => Promise<string>): void {
  const results = process.env.BOOKREEL_FAULT_RESULTS;
  const report = (outcome: FaultResult['outcome'], seen: string) => {
    if (results === undefined) return;
    const result: FaultResult = { what, expected, outcome, seen: seen.slice(0, SEEN_CHARS_MAX) };
    appendFileSync(results, `${JSON.stringify(result)}\n`);
  };
  if (lacks !== undefined) report('skipped', `needs ${lacks}`);
  const left = lacks !== undefined || (long && results === undefined);
  const name = lacks === undefined ? what : `${what} (needs ${lacks})`;
  test.skipIf(left)(
    left && long ? `${name} (runs with make fault)` : name,
    async () => {
      try {
        report('passed', await run());
      } catch (error) {
        report('failed', error instanceof Error ? error.message : String(error));
        throw error;
      }
    },
    DEADLINE_MS,
  );
}
