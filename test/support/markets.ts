import type { MarketStatement } from '../../src/domain/market-statement.ts';
import type { Markets, StoredMarket } from '../../src/store/markets.ts';

/** A statement with the identifying fields and `fields`; each `number` is another market. */
export function marketStatement(number: number, fields: Partial<MarketStatement> = {}): MarketStatement {
  const startMs = 1_776_323_400_000 + number * 300_000;
  return {
    conditionId: `0x${number.toString(16).padStart(64, '0')}`,
    slug: `btc-updown-5m-${startMs / 1000}`,
    symbol: 'btc',
    timeframe: '5m',
    clobTokenIds: [`${number}1`, `${number}2`],
    startMs,
    endMs: startMs + 300_000,
    ...fields,
  };
}

/** A coin's list of markets. */
export function listMarkets(markets: Markets, ...args: Parameters<Markets['list']>): StoredMarket[] {
  return markets.list(...args);
}
