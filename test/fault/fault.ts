import { test } from 'bun:test';
import { appendFileSync } from 'node:fs';

/** One fault of the executable's environment. */
interface Fault {
  /** The fault, as a sentence. */
  readonly what: string;
  /** The behaviour that is required. */
  readonly expected: string;
  /** Programs or rights that are missing on this machine, in words; undefined if there are none. */
  readonly lacks?: string | undefined;
  /** Takes long, so it runs with `make fault` only. */
  readonly long?: boolean;
}

/** The result of one fault: a line of JSON in the file BOOKREEL_FAULT_RESULTS. */
export interface FaultResult {
  readonly what: string;
  readonly expected: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seen: string;
}

const DEADLINE_MS = 600_000;
const SEEN_CHARS_MAX = 300;

/** Adds a test. `run` returns a summary for the results, and throws if the behaviour is not the expected one. */
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
