import { UNIT_MS } from '../../domain/duration.ts';
import { integersBetween } from './integer-pattern.ts';

/** A portable regular expression for the durations of `parseDuration` from `minMs` to `maxMs`. */
export function durationPattern(minMs: number, maxMs: number): string {
  const spellings = Object.entries(UNIT_MS).flatMap(([unit, unitMs]) => {
    const [least, most] = [Math.max(1, Math.ceil(minMs / unitMs)), Math.floor(maxMs / unitMs)];
    return least > most ? [] : [`(${integersBetween(least, most)})${unit}`];
  });
  return `^(${spellings.join('|')})$`;
}
