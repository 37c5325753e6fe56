import type { Tier } from '../domain/tier.ts';
import { usdText } from './texts.ts';

/** The note of a tier whose price nobody has set. */
const UNDECIDED = 'to be determined';

/** `$49 a month`, or the price in words. */
export function priceText({ monthlyPriceUsd, priceNote }: Tier): string {
  if (monthlyPriceUsd !== undefined) return `${usdText(monthlyPriceUsd)} a month`;
  return priceNote === undefined || priceNote === UNDECIDED ? 'On request' : priceNote;
}

/** `btc, eth`, or `all`. */
export function grantedText(granted: readonly string[] | undefined): string {
  return granted?.join(', ') ?? 'all';
}

/** The name of a tier in a catalog that has it. */
export function tierName(catalog: readonly Tier[], id: string): string {
  return catalog.find((tier) => tier.id === id)!.name;
}
