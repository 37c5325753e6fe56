import { RefusedField } from '../domain/refused-field.ts';

/** Control characters and line breaks: the text is printed in a table. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const CHARACTERS_MAX = 100;

/** Throws 'invalid-parameter' for the name of an account, a key or a tier, or for another short text. */
export function refuseUnprintableName(text: string | undefined, what = 'name'): void {
  if (text === undefined) return;
  const characters = [...text];
  const unseen = characters.findIndex((character) => UNSEEN.test(character));
  if (unseen >= 0) {
    const message = `this ${what} has a character that cannot be seen, at position ${unseen + 1}: remove it`;
    const rest = characters
      .filter((character) => !UNSEEN.test(character))
      .join('')
      .trim();
    throw new RefusedField(what, 'invalid-parameter', message, rest || undefined);
  }
  if (characters.length >= 1 && characters.length <= CHARACTERS_MAX) return;
  const message = `a ${what} has 1 to ${CHARACTERS_MAX} characters, and this one has ${characters.length}: choose another ${what}`;
  throw new RefusedField(what, 'invalid-parameter', message);
}
