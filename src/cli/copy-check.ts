import { DomainError } from '../domain/errors.ts';
import { saysDamaged } from '../store/database.ts';
import { verifyFile } from '../verify/verify.ts';
import { EXIT, ExitWith } from './exit.ts';
import type { Terminal } from './terminal.ts';
import { printProblems } from './verify.ts';

/**
 * Verifies a copy of an archive; `source` is what it was copied from. What a recording has wrong (a winner that prices
 * contradict) is no fault of the copy. Throws ExitWith 3 after saying what is.
 */
export function checkCopy(terminal: Terminal, source: string): (path: string) => Promise<void> {
  return async (path) => {
    const verification = await verifyFile(path, { clock: terminal.clock });
    if (verification.totals.damage === 0) return;
    printProblems(terminal.err, verification);
    terminal.err(`bookreel: the copy of '${source}' is not kept, it has the problems above\n`);
    throw new ExitWith(EXIT.verification);
  };
}

/** Runs what copies an archive; one that is too damaged to be read is a problem found, exit code 3, not a failure. */
export async function reportingDamage<T>(terminal: Terminal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DomainError) || !saysDamaged(error)) throw error;
    terminal.err(`bookreel: ${error.message}\n`);
    throw new ExitWith(EXIT.verification);
  }
}
