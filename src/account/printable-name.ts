import { RefusedField } from '../domain/refused-field.ts';

/** No control characters and no line breaks: the text is printed in a table. */
const PRINTABLE = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,100}$/u;

/** Throws 'invalid-parameter' for the name of an account, a key or a tier, or for another short text. */
export function refuseUnprintableName(text: string | undefined, what = 'name'): void {
  if (text === undefined || PRINTABLE.test(text)) return;
  throw new RefusedField(
    what,
    'invalid-parameter',
    `a ${what} must have 1 to 100 printable characters: choose another ${what}`,
  );
}
