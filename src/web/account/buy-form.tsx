import type { Price } from '../../billing/billing.ts';

export const PLAN_PATH = '/account/plan';

/** A token, as the form names it. */
export function priceId({ chain, token }: Price): string {
  return `${chain.network}/${token.asset}`;
}

/** Buys a tier with one of the tokens that pay for it. */
export function BuyForm({ prices }: { readonly prices: readonly Price[] }) {
  const [first] = prices;
  if (first === undefined) return null;
  return (
    <form method="post" action={`${PLAN_PATH}/buy`}>
      <input type="hidden" name="tier" value={first.tier.id} />
      <label class="field">
        Pay with
        <select class="input" name="token">
          {prices.map((price) => (
            <option key={priceId(price)} value={priceId(price)}>
              {price.token.symbol} on {price.chain.name}
            </option>
          ))}
        </select>
      </label>
      <button class="button primary wide" type="submit">
        Buy 30 days
      </button>
    </form>
  );
}
