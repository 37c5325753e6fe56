import { DomainError } from '../domain/errors.ts';
import { isDamageError } from '../store/database-errors.ts';
import { type VerifyOptions, verifyDirectory } from '../verify/verify.ts';
import { EXIT, ExitWith } from './exit.ts';
import { printError, type Terminal } from './terminal.ts';
import { printProblems } from './verify.ts';
import { startVerifyProcess } from './verify-process.ts';

/** Verifies a copy of an archive, or the named markets of it. */
type Check = (directory: string, isKnown?: VerifyOptions['isKnown'], names?: readonly string[]) => Promise<void>;

/**
 * Copies the archive `source`; `work` verifies the copy with the function it gets. Prints the reason and throws ExitWith 3 if
 * the copy is damaged, or the source too damaged to be read. An error in a recording (a winner that contradicts the prices) is
 * not damage.
 */
export async function copyVerified<T>(
  terminal: Terminal,
  source: string,
  work: (check: Check) => Promise<T>,
): Promise<T> {
  const { clock } = terminal;
  try {
    return await work(async (directory, isKnown = () => false, names) => {
      const startWorker = startVerifyProcess;
      const verification = await verifyDirectory(directory, { clock, isKnown, names, startWorker });
      if (verification.totals.damage === 0) return;
      const printProblem = (line: string) => printError(terminal, line.trimEnd(), 'unreadable');
      printProblems(terminal.errorsAreJson === true ? printProblem : terminal.err, verification);
      const sentence = `the copy of '${source}' is not kept because of the problems above: restore an earlier backup`;
      printError(terminal, sentence, 'unreadable');
      throw new ExitWith(EXIT.verification);
    });
  } catch (error) {
    if (!(error instanceof DomainError) || !(error.kind === 'unreadable' || isDamageError(error))) throw error;
    printError(terminal, error.message, error.kind);
    throw new ExitWith(EXIT.verification);
  }
}
