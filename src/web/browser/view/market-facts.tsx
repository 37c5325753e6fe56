import { settlementSource } from '../../../domain/winner-check.ts';
import { Facts } from '../../../http/pages/facts.tsx';
import type { ShownMarket } from './explorer.ts';

/** What is known of a market without books, in place of its ladder. */
export function MarketFacts({ market, coverage }: Pick<ShownMarket, 'market' | 'coverage'>) {
  const { conditionId, resolvedAt, timeframe, volume } = market;
  const facts = {
    Volume: volume === null ? undefined : `$${volume.toLocaleString('en-US')}`,
    Resolved: resolvedAt === null ? undefined : `${resolvedAt.slice(0, 16).replace('T', ' ')} UTC`,
    'Settled by': settlementSource(timeframe),
    'Condition id': <code>{conditionId}</code>,
  };
  return (
    <div class="card ladders">
      <h2>{coverage === undefined ? 'Your tier does not include books' : 'No book is recorded'}</h2>
      <p class="quiet small">So there is no heat map and no ladder. What is known of this market:</p>
      <Facts isCard={false} facts={facts} />
    </div>
  );
}
