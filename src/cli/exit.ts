import { CommanderError } from 'commander';
import { DomainError } from '../domain/errors.ts';

/** What the program's exit code says. */
export const EXIT = { ok: 0, failure: 1, usage: 2, verification: 3, inUse: 4 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Thrown by a command whose work is done but not clean; what there is to say was said. */
export class ExitWith extends Error {
  readonly code: ExitCode;

  constructor(code: ExitCode) {
    super(`exit ${code}`);
    this.code = code;
  }
}

export function exitCodeFor(error: unknown): ExitCode {
  if (error instanceof ExitWith) return error.code;
  // Help and version leave through an error too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (!(error instanceof DomainError)) return EXIT.failure;
  if (error.kind === 'in-use') return EXIT.inUse;
  return error.kind === 'invalid-parameter' ? EXIT.usage : EXIT.failure;
}
