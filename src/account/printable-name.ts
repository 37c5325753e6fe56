import { DomainError } from '../domain/errors.ts';

/** No control characters and no line breaks: the name is printed in a table. */
const NAME = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,100}$/u;

/** Throws 'invalid-parameter' for the name of an account, a key or a tier. */
export function refuseUnprintableName(name: string | undefined): void {
  if (name === undefined || NAME.test(name)) return;
  throw new DomainError('invalid-parameter', 'a name must have 1 to 100 printable characters: choose another name');
}
