import { DomainError, type ErrorKind } from './errors.ts';

/** An error that the person can correct in one field of a form. */
export class RefusedField extends DomainError {
  /** The name of the field. */
  readonly field: string;

  constructor(field: string, kind: ErrorKind, message: string) {
    super(kind, message);
    this.field = field;
  }
}
