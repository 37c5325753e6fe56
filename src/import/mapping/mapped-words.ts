import { rejected } from '../../record/fields.ts';
import { type MappedRow, shown, textOf, valueReader } from './mapped-value.ts';
import type { MappedValue } from './mapping-schema.ts';

/** A place with the texts that mean each of two words, such as up and down, or bid and ask. */
export type MappedWords<Word extends string> = MappedValue & {
  readonly [One in Word]?: readonly string[] | undefined;
};

/** Reads a word of a row; undefined if it is not stated. Throws 'rejected-record' for a text without a meaning. */
export function wordReader<Word extends string>(
  place: MappedWords<Word>,
  words: readonly Word[],
): (row: MappedRow) => Word | undefined {
  const constant = words.find((word) => word === place.value);
  if (constant !== undefined) return () => constant;
  const { name, read } = valueReader(place);
  const meanings = new Map(words.flatMap((word) => (place[word] ?? []).map((text) => [text, word] as const)));
  return (row) => {
    const text = textOf(read(row), name);
    if (text === undefined) return undefined;
    const word = meanings.get(text);
    if (word === undefined) throw rejected(`${name} "${shown(text)}" is not one of ${[...meanings.keys()].join(', ')}`);
    return word;
  };
}
