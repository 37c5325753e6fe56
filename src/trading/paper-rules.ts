import type { MarketDetails } from '../domain/market-details.ts';
import type { FeeSchedule, Micros } from '../paper/micros.ts';
import type { MarketRules, QueueAssumption } from '../paper/paper-market.ts';
import { replayedListingMs } from '../replay/assumed-times.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { scheduledFee } from '../venue/fee-schedule.ts';
import { scheduledTakerDelay } from '../venue/taker-delay.ts';

/** The longest latency and taker delay. */
export const DELAY_MS_MAX = 60_000;

/** The settings of accounts: of a replay or of a backtest. */
export interface PaperRules {
  /** The dollars of an account at first. */
  readonly cash: Micros;
  /** From the sending of an order or a cancel to its arrival at the venue. */
  readonly latencyMs: number;
  /** The time for which marketable orders are held; 'venue': as long as at the venue when the window of the market began. */
  readonly takerDelayMs: 'venue' | number;
  readonly fees: 'venue' | 'none';
  readonly queue: QueueAssumption;
}

export const DEFAULT_RULES: PaperRules = {
  cash: 1_000_000_000,
  latencyMs: 40,
  takerDelayMs: 'venue',
  fees: 'venue',
  queue: 'behind',
};

/** The rules of one market, with their sources in words. */
export interface SourcedRules extends MarketRules {
  readonly takerDelaySource: string;
  readonly feesSource: string;
}

const NO_FEES: FeeSchedule = { rate: 0, exponent: 1 };
const ASKED = 'the settings of the accounts';

/** The rules of a market: what its recording states, else what the venue published for its day. Call it within Database.read. */
export function marketRules(
  { markets }: Archive,
  market: StoredMarket,
  { latencyMs, takerDelayMs, fees, queue }: PaperRules,
): SourcedRules {
  const { key, timeframe, startMs } = market;
  const listedMs = replayedListingMs(market, markets.firstRecordMs(key));
  const delay =
    takerDelayMs === 'venue' ? scheduledTakerDelay(timeframe, startMs) : { delayMs: takerDelayMs, source: ASKED };
  const fee =
    fees === 'none'
      ? { ...NO_FEES, source: ASKED }
      : (recordedFee(markets.details.of(key)) ?? scheduledFee(timeframe, listedMs));
  const { rate, exponent, source } = fee;
  return {
    ...{ latencyMs, takerDelayMs: delay.delayMs, takerDelaySource: delay.source },
    ...{ queue, fees: { rate, exponent }, feesSource: source },
  };
}

/** The fee that a recording states. An exponent that is not a whole number is not the venue's formula, so it states none. */
function recordedFee({ feesEnabled, feeRate, feeExponent = 1 }: MarketDetails) {
  const source = 'the recording';
  if (feesEnabled === false) return { ...NO_FEES, source };
  if (feeRate === undefined || !Number.isInteger(feeExponent)) return undefined;
  return { rate: feeRate, exponent: feeExponent, source };
}
