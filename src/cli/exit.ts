import { CommanderError } from '@commander-js/extra-typings';
import { DomainError } from '../domain/errors.ts';

/** The program's exit codes. */
export const EXIT = { ok: 0, failure: 1, usage: 2, verification: 3, inUse: 4 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command with this exit code. The command has printed the reason already. */
export class ExitWith extends Error {
  readonly code: ExitCode;

  constructor(code: ExitCode) {
    super(`exit ${code}`);
    this.code = code;
  }
}

export function exitCodeFor(error: unknown): ExitCode {
  if (error instanceof ExitWith) return error.code;
  // The parser throws after --help and --version too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (!(error instanceof DomainError)) return EXIT.failure;
  if (error.kind === 'in-use') return EXIT.inUse;
  return error.kind === 'invalid-parameter' ? EXIT.usage : EXIT.failure;
}
