import { countText } from '../domain/count-text.ts';
import type { Tier } from '../domain/tier.ts';
import { DAY_MS } from '../domain/usage.ts';
import type { Registry } from '../store/registry.ts';
import { usdText } from './texts.ts';

/** The note of a tier whose price nobody has set. */
const UNDECIDED = 'to be determined';

/** The term of every price. */
export const TERM = 'for 30 days';

/** `$49 for 30 days`, `$0`, or the price in words. */
export function priceText(tier: Tier): string {
  const { monthlyPriceUsd, priceNote } = tier;
  if (monthlyPriceUsd !== undefined) return `${usdText(monthlyPriceUsd)}${monthlyPriceUsd === 0 ? '' : ` ${TERM}`}`;
  return isOnRequest(tier) ? 'On request' : `${priceNote!.charAt(0).toUpperCase()}${priceNote!.slice(1)}`;
}

/** True for a tier without a price, or with a note that it has none yet. */
function isOnRequest({ monthlyPriceUsd, priceNote = UNDECIDED }: Tier): boolean {
  return monthlyPriceUsd === undefined && [UNDECIDED, 'on request'].includes(priceNote.toLowerCase());
}

/** `53 days left`. */
export function daysLeftText(leftMs: number): string {
  return leftMs < DAY_MS ? 'Less than a day left' : `${countText(Math.floor(leftMs / DAY_MS), 'day')} left`;
}

/** Tiers in the order in which customers see them: by price, then those without one; among equal prices by rank. */
export function byPrice(tiers: readonly Tier[]): Tier[] {
  const price = ({ monthlyPriceUsd = Number.MAX_VALUE }: Tier) => monthlyPriceUsd;
  return tiers.toSorted((one, other) => price(one) - price(other));
}

/** `BTC, ETH`, or `All`. */
export function coinsText({ coins }: Tier): string {
  return coins?.join(', ').toUpperCase() ?? 'All';
}

/** The name of a tier, even if it is retired. */
export function tierName({ database, tiers }: Registry, id: string): string {
  return database.read(() => tiers.named(id).name);
}
