import { DomainError, type ErrorDetail, type ErrorKind } from './errors.ts';

/** An error that the person can correct in one field of a form. */
export class RefusedField extends DomainError {
  /** The name of the field. */
  readonly field: string;
  /** The value that would not be refused, if there is an obvious one. */
  readonly corrected: string | undefined;

  constructor(field: string, kind: ErrorKind, message: string, corrected?: string, detail?: ErrorDetail) {
    super(kind, message, detail);
    this.field = field;
    this.corrected = corrected;
  }
}
