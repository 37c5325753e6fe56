import { LISTED_AHEAD_MS_MAX } from '../../domain/market-as-of.ts';
import { marketsByStart } from '../../replay/markets-by-start.ts';
import type { Replay } from '../../replay/replay.ts';
import { withAssetIds } from '../../replay/stand-in-assets.ts';
import type { StoredMarket } from '../../store/markets.ts';

/** The longest window. */
const WINDOW_MS_MAX = 86_400_000;

/**
 * The markets whose windows have begun or that have a record, and whose windows have not ended at the clock's instant, by start. Needs a
 * view of the archive.
 */
export function tradedMarkets(replay: Replay): IteratorObject<StoredMarket> {
  const { archive, clock, coins } = replay;
  const { nowMs } = clock;
  const near = marketsByStart(archive.markets, coins, nowMs - WINDOW_MS_MAX, nowMs + LISTED_AHEAD_MS_MAX);
  const hasBegun = ({ key, startMs }: StoredMarket) =>
    Math.min(startMs, archive.markets.firstRecordMs(key) ?? Infinity) <= nowMs;
  return near
    .filter((market) => market.endMs > nowMs && replay.hasListed(market, nowMs) && hasBegun(market))
    .map(withAssetIds);
}

/**
 * A path that has an answer at the clock's instant: the path of a book, else of a market, else of the list of replays. Needs a
 * view of the archive.
 */
export function examplePath(replay: Replay): string {
  const { clock } = replay;
  const withBook = tradedMarkets(replay).find((market) => replay.bookAt(market, 'up', clock.nowMs) !== undefined);
  if (withBook !== undefined) return `/book?token_id=${withBook.clobTokenIds[0]}`;
  const [market] = tradedMarkets(replay).take(1).toArray();
  return market === undefined ? '/v1/replays' : `/markets/${market.conditionId}`;
}
