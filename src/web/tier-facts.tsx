import type { Tier } from '../domain/tier.ts';
import { numberText } from './texts.ts';
import { grantedText } from './tier-texts.ts';

/** What a tier grants. */
export function TierFacts({ tier }: { readonly tier: Tier }) {
  return (
    <dl class="facts">
      <dt>Coins</dt>
      <dd>{grantedText(tier.coins)}</dd>
      <dt>Routes</dt>
      <dd>{grantedText(tier.routes)}</dd>
      <dt>Requests</dt>
      <dd>{numberText(tier.requestsPerMinute)} a minute per key</dd>
    </dl>
  );
}
