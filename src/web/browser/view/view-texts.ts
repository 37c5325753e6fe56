import { nounText } from '../../../domain/count-text.ts';

/** `1 market`, `2,000 markets`. */
export function countText(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${nounText(count, noun)}`;
}
