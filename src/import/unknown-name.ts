import { DomainError } from '../domain/errors.ts';

/** The error for a record that names a market or an asset that no market record has stated so far. */
export class UnknownName extends DomainError {
  /** The conditionId or the asset id. */
  readonly key: string;

  constructor(key: string, reason: string) {
    super('rejected-record', reason);
    this.key = key;
  }
}
