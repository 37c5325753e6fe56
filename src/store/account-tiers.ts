import type { InstantMs } from '../domain/instant.ts';
import type { Tier } from '../domain/tier.ts';
import type { Grants } from './grants.ts';
import type { Tiers } from './tiers.ts';

/** A time in which an account may have a tier. */
export interface TierTerm {
  readonly tier: Tier;
  readonly startsMs: InstantMs;
  /** Exclusive; Infinity: no end. */
  readonly endsMs: InstantMs;
}

/** The tiers of accounts: the highest one of the grants at an instant, else the tier of accounts without a grant. */
export class AccountTiers {
  readonly #tiers: Tiers;
  readonly #grants: Grants;
  /** The tier of accounts without a grant. */
  ungranted: string;

  /** Throws 'invalid-parameter' if `ungranted` does not exist. */
  constructor(tiers: Tiers, grants: Grants, ungranted: string) {
    this.#tiers = tiers;
    this.#grants = grants;
    this.ungranted = ungranted;
    tiers.named(ungranted);
  }

  /** The terms of an account. At each instant the first term that contains it is valid; the last one contains every instant. */
  termsOf(accountId: number): TierTerm[] {
    const granted = this.#grants
      .ofAccount(accountId)
      .map(({ tier, startsMs, endsMs = Infinity }) => ({ tier: this.#tiers.named(tier), startsMs, endsMs }));
    return [...granted, { tier: this.#tiers.named(this.ungranted), startsMs: -Infinity, endsMs: Infinity }];
  }

  /** The tier at an instant, and the end of the grants of this tier that follow each other without a break; Infinity: no end. */
  at(accountId: number, nowMs: InstantMs): Pick<TierTerm, 'tier' | 'endsMs'> {
    const terms = this.termsOf(accountId);
    const { tier } = termAt(terms, nowMs)!;
    const same = terms.filter((one) => one.tier.id === tier.id);
    return { tier, endsMs: endOfTerms(same, nowMs) };
  }
}

/** The end of the terms that follow each other without a break from an instant on; the instant if none contains it. */
export function endOfTerms(terms: readonly Omit<TierTerm, 'tier'>[], nowMs: InstantMs): InstantMs {
  let endsMs = nowMs;
  for (let next = termAt(terms, endsMs); next !== undefined; next = termAt(terms, endsMs)) ({ endsMs } = next);
  return endsMs;
}

/** The first of `terms` that contains an instant. */
export function termAt<T extends Omit<TierTerm, 'tier'>>(terms: readonly T[], nowMs: InstantMs): T | undefined {
  return terms.find(({ startsMs, endsMs }) => startsMs <= nowMs && nowMs < endsMs);
}
