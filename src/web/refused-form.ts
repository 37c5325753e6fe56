import { DomainError } from '../domain/errors.ts';

/** A form that was refused: its page shows the reason and what was typed. */
export interface RefusedForm {
  readonly error: DomainError;
  readonly typed: URLSearchParams;
}

/** Runs `work` for a form. Undefined: it is done. Throws what the person cannot correct in the form. */
export function refusedForm(typed: URLSearchParams, work: () => void): RefusedForm | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof DomainError) || (error.kind !== 'invalid-parameter' && error.kind !== 'conflict'))
      throw error;
    return { error, typed };
  }
}

/** The message of an error as a sentence. */
export function errorSentence({ message }: Pick<DomainError, 'message'>): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
