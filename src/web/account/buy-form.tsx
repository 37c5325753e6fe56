import type { Price } from '../../billing/billing.ts';
import { Choice, Form } from '../form.tsx';

export const PLAN_PATH = '/account/plan';
/** The way back from what a plan leads to. */
export const PLAN = { href: PLAN_PATH, name: 'Plan' } as const;

/** A token, as the form names it. */
export function priceId({ chain, token }: Price): string {
  return `${chain.network}/${token.asset}`;
}

/** Buys a tier with one of the tokens that pay for it. */
export function BuyForm({ prices }: { readonly prices: readonly Price[] }) {
  const [first] = prices;
  if (first === undefined) return null;
  return (
    <Form action={`${PLAN_PATH}/buy`} hidden={{ tier: first.tier.id }} button="Buy 30 days" look="primary wide">
      <Choice
        label="Pay with"
        name="token"
        options={prices.map((price) => [priceId(price), `${price.token.symbol} on ${price.chain.name}`])}
      />
    </Form>
  );
}
