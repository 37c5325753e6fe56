import type { Outcome } from '../../domain/outcome.ts';
import { parseOutcome } from '../../domain/outcome.ts';
import { parseTradeSide, type TradeSide } from '../../domain/trade.ts';
import { rejected } from '../../record/fields.ts';
import { type MappedRow, shown, textOf, valueReader } from './mapped-value.ts';
import type { MappedLevelSide, MappedOutcome, MappedTradeSide, MappedValue } from './mapping-schema.ts';

/** Reads the outcome of a row; undefined if it is not stated. Throws 'rejected-record' for a text without a meaning. */
export function outcomeReader(outcome: MappedOutcome): (row: MappedRow) => Outcome | undefined {
  const { value, up = [], down = [] } = outcome;
  return wordReader(outcome, value && parseOutcome(value), [
    ['up', up],
    ['down', down],
  ]);
}

/** The same for the side of a trade. */
export function tradeSideReader(side: MappedTradeSide): (row: MappedRow) => TradeSide | undefined {
  const { value, buy = [], sell = [] } = side;
  return wordReader(side, value && parseTradeSide(value), [
    ['buy', buy],
    ['sell', sell],
  ]);
}

/** Reads true for a bid, false for an ask. */
export function levelSideReader(side: MappedLevelSide): (row: MappedRow) => boolean | undefined {
  const { value, bid = [], ask = [] } = side;
  const read = wordReader<'bid' | 'ask'>(side, value === 'bid' || value === 'ask' ? value : undefined, [
    ['bid', bid],
    ['ask', ask],
  ]);
  return (row) => {
    const word = read(row);
    return word === undefined ? undefined : word === 'bid';
  };
}

function wordReader<Word extends string>(
  place: MappedValue,
  constant: Word | '' | undefined,
  texts: readonly (readonly [Word, readonly string[]])[],
): (row: MappedRow) => Word | undefined {
  if (constant !== undefined && constant !== '') return () => constant;
  const { name, read } = valueReader(place);
  const words = new Map(texts.flatMap(([word, list]) => list.map((text) => [text, word] as const)));
  return (row) => {
    const text = textOf(read(row), name);
    if (text === undefined) return undefined;
    const word = words.get(text);
    if (word === undefined) throw rejected(`${name} "${shown(text)}" is not one of ${[...words.keys()].join(', ')}`);
    return word;
  };
}
