import type { AccountGrant } from '../domain/account.ts';
import type { InstantMs } from '../domain/instant.ts';
import { type PaymentQuote, TERM_MS } from '../domain/payment.ts';
import { endOfTerms } from '../store/account-tiers.ts';
import type { Registry } from '../store/registry.ts';

type Purchase = Pick<PaymentQuote, 'accountId' | 'tier'>;
type GrantDeps = Pick<Registry, 'grants' | 'tiers'>;

interface Term {
  readonly startsMs: InstantMs;
  readonly endsMs: InstantMs;
}

/**
 * The start of a tier's term if it is bought now: after all grants of this tier and of higher ones that follow each other from now
 * on; Infinity if one of them has no end.
 */
export function startOfTerm({ grants, tiers }: GrantDeps, { accountId, tier }: Purchase, nowMs: InstantMs): InstantMs {
  const rankOf = ranks(tiers);
  const same = grants.ofAccount(accountId).filter((grant) => rankOf(grant.tier) >= rankOf(tier));
  return endOfTerms(same.map(termOf), nowMs);
}

/**
 * Grants the tier of a payment for its term. Other paid time that is left continues after it. Within a write
 * transaction.
 */
export function grantPaid(deps: GrantDeps, quote: Purchase, paymentId: string, nowMs: InstantMs): void {
  const { accountId, tier } = quote;
  const { grants, tiers } = deps;
  const rankOf = ranks(tiers);
  const next = startOfTerm(deps, quote, nowMs);
  // An operator may have granted it without an end since the quote.
  const startsMs = next === Infinity ? nowMs : next;
  const endsMs = startsMs + TERM_MS;
  // A running term of a higher tier goes on. One that begins later moves: an operator may have ended what came before it.
  const later = paidGrants(deps, accountId)
    .filter((grant) => grant.endsMs > startsMs)
    .filter((grant) => grant.startsMs >= startsMs || rankOf(grant.tier) < rankOf(tier))
    .sort((one, other) => one.startsMs - other.startsMs);
  let freeMs = endsMs;
  for (const { id, tier: own, paymentId: ownPayment, ...term } of later) {
    const fromMs = Math.max(term.startsMs, freeMs);
    freeMs = fromMs + term.endsMs - Math.max(term.startsMs, startsMs);
    const rest = { startsMs: fromMs, endsMs: freeMs };
    if (term.startsMs >= startsMs) grants.move(id, rest.startsMs, rest.endsMs);
    else {
      grants.move(id, term.startsMs, startsMs);
      grants.add({ accountId, tier: own, source: 'payment', paymentId: ownPayment, ...rest }, nowMs);
    }
  }
  grants.add({ accountId, tier, source: 'payment', paymentId, startsMs, endsMs }, nowMs);
}

/**
 * Ends a payment's grant now. The paid grants after it start earlier, each after the grants of its tier and of higher ones that follow each
 * other. Within a write transaction.
 */
export function revokePaid(deps: GrantDeps, accountId: number, paymentId: string, nowMs: InstantMs): void {
  const { grants } = deps;
  const rankOf = ranks(deps.tiers);
  const own = () =>
    paidGrants(deps, accountId).filter((grant) => grant.paymentId === paymentId && grant.endsMs > nowMs);
  for (let [part] = own(); part !== undefined; [part] = own()) {
    const { id, startsMs, endsMs } = part;
    grants.move(id, Math.min(startsMs, nowMs), nowMs);
    const later = paidGrants(deps, accountId)
      .filter((grant) => grant.startsMs >= endsMs)
      .sort((one, other) => one.startsMs - other.startsMs);
    const waiting = new Set(later.map((grant) => grant.id));
    for (const one of later) {
      const before = grants
        .ofAccount(accountId)
        .filter((grant) => !waiting.has(grant.id) && rankOf(grant.tier) >= rankOf(one.tier));
      const movedMs = Math.min(one.startsMs, endOfTerms(before.map(termOf), Math.max(startsMs, nowMs)));
      grants.move(one.id, movedMs, movedMs + one.endsMs - one.startsMs);
      waiting.delete(one.id);
    }
  }
}

/** The time of a payment's grants; undefined without one. */
export function termOfPayment(deps: GrantDeps, accountId: number, paymentId: string): Term | undefined {
  const own = paidGrants(deps, accountId).filter((grant) => grant.paymentId === paymentId);
  if (own.length === 0) return undefined;
  const startsMs = Math.min(...own.map((grant) => grant.startsMs));
  return { startsMs, endsMs: Math.max(...own.map((grant) => grant.endsMs)) };
}

function paidGrants({ grants }: GrantDeps, accountId: number): (AccountGrant & Term)[] {
  return grants
    .ofAccount(accountId)
    .filter(({ source }) => source === 'payment')
    .map((grant) => ({ ...grant, ...termOf(grant) }));
}

function termOf({ startsMs, endsMs = Infinity }: Pick<AccountGrant, 'startsMs' | 'endsMs'>): Term {
  return { startsMs, endsMs };
}

/** The position of a tier in the catalog; retired tiers keep theirs. */
function ranks(tiers: Registry['tiers']): (tier: string) => number {
  const ids = tiers.all().map(({ id }) => id);
  return (tier) => ids.indexOf(tier);
}
