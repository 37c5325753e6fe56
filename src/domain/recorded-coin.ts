import { type Static, Type } from 'typebox';
import { CoinCode } from './coin.ts';
import { formatInstant, type InstantMs, instantText } from './instant.ts';
import { TIMEFRAMES, type Timeframe, TimeframeName } from './timeframe.ts';

export interface RecordedCoin {
  readonly symbol: string;
  /** The timeframes of its markets, the shortest first. */
  readonly timeframes: readonly Timeframe[];
  readonly markets: number;
  /** Markets with at least one order book snapshot. */
  readonly recordedMarkets: number;
  readonly snapshots: number;
  /** The times of the first and the last snapshot; undefined without any. */
  readonly firstMs: InstantMs | undefined;
  readonly lastMs: InstantMs | undefined;
}

const count = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

export const CoinResource = Type.Object(
  {
    symbol: CoinCode,
    timeframes: Type.Array(TimeframeName, {
      maxItems: TIMEFRAMES.length,
      description: 'Timeframes of the listed markets, the shortest first.',
    }),
    markets: count('Markets that are listed; 0 where only reference prices are recorded.'),
    recordedMarkets: count('Markets with at least one order book snapshot.'),
    snapshots: count('Stored order book snapshots of all markets.'),
    firstAt: Type.Union([instantText('When the first snapshot was recorded.'), Type.Null()], {
      description: 'Time of the first snapshot; null without any.',
    }),
    lastAt: Type.Union([instantText('When the last snapshot was recorded.'), Type.Null()], {
      description: 'Time of the last snapshot; null without any.',
    }),
  },
  { $id: 'Coin', description: 'How much is recorded of a coin.' },
);
export type CoinResource = Static<typeof CoinResource>;

export function coinResource({ firstMs, lastMs, symbol, timeframes, ...counts }: RecordedCoin): CoinResource {
  return {
    symbol,
    timeframes: [...timeframes],
    ...counts,
    firstAt: firstMs === undefined ? null : formatInstant(firstMs),
    lastAt: lastMs === undefined ? null : formatInstant(lastMs),
  };
}
