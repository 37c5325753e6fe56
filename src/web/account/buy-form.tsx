import type { Price } from '../../billing/billing.ts';
import type { InstantMs } from '../../domain/instant.ts';
import { Choice, Form } from '../form.tsx';
import { Until } from '../time.tsx';

export const PLAN_PATH = '/account/plan';
/** The way back from what a plan leads to. */
export const PLAN = { href: PLAN_PATH, name: 'Plan' } as const;

/** A token, as the form names it. */
export function priceId({ chain, token }: Price): string {
  return `${chain.network}/${token.asset}`;
}

/** `USDC on the network Polygon`. */
export function priceToken({ chain, token }: Pick<Price, 'chain' | 'token'>): string {
  return `${token.symbol} on the network ${chain.name}`;
}

interface BuyFormContent {
  readonly prices: readonly Price[];
  /** The term if it is bought now. */
  readonly startsMs: InstantMs;
  readonly endsMs: InstantMs;
  /** The account has the tier. */
  readonly isPresent?: boolean;
  readonly nowMs: InstantMs;
}

/** Buys a tier with one of the tokens that pay for it. */
export function BuyForm({ prices, startsMs, endsMs, isPresent = false, nowMs }: BuyFormContent) {
  const [first] = prices;
  if (first === undefined) return null;
  const hasChoice = prices.length > 1;
  return (
    <Form
      action={`${PLAN_PATH}/buy`}
      hidden={{ tier: first.tier.id, ...(!hasChoice && { token: priceId(first) }) }}
      button={isPresent ? 'Extend' : 'Buy 30 days'}
      // A lower tier starts after the present one.
      look={isPresent || startsMs === nowMs ? 'primary wide' : 'wide'}
    >
      {isPresent && (
        <p class="quiet">
          30 days more, <Until ms={endsMs} />
        </p>
      )}
      {hasChoice && (
        <Choice label="Pay with" name="token" options={prices.map((price) => [priceId(price), priceToken(price)])} />
      )}
    </Form>
  );
}
