import type { InstantMs } from '../domain/instant.ts';
import type { MarketStatement } from '../domain/market-statement.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import type { RecordedWindow, WindowState } from '../domain/recorder-status.ts';
import { WatchedAsset } from './watched-asset.ts';
import type { ScheduledWindow } from './window-schedule.ts';

/** Subscribed this long before the window: the first books have to come before it. */
const SUBSCRIBED_BEFORE_MS = 120_000;
/** Unsubscribed this long after the window. Markets that stay subscribed fill the venue's set for the socket. */
const UNSUBSCRIBED_AFTER_MS = 60_000;
/** When the winner and the prices are asked for, after the window's end. */
const ASKED_AFTER_MS = [120_000, 300_000, 600_000, 1_800_000];
const US_PER_MS = 1000;

export const NOT_RUNNING = 'the recorder was not running';

/** A window as an earlier recorder left it. */
export interface EarlierRecording {
  /** Null without a market. */
  readonly conditionId: string | null;
  /** From when on each outcome is missing (up, down); null without a book. */
  readonly fromMs: readonly (InstantMs | null)[];
  readonly isMissed: boolean;
  /** The reason of its gaps. */
  readonly reason: string;
}

/** A window on its way from the schedule to its winner. */
export class WindowRecord {
  readonly window: ScheduledWindow;
  assets: readonly WatchedAsset[] = [];
  /** The number of times that the winner was asked for. */
  asked = 0;
  isSubscribed = false;
  /** True if it began without a market while a recorder was running. */
  isMissed: boolean;
  /** True once its assets were subscribed, or its end has come without: then nothing of an earlier recorder is left to write. */
  isSettled = false;
  readonly earlier: EarlierRecording | undefined;
  #market: MarketStatement | undefined;
  #isResolved = false;

  constructor(window: ScheduledWindow, earlier?: EarlierRecording) {
    this.window = window;
    this.earlier = earlier;
    this.isMissed = earlier?.isMissed === true;
  }

  get hasBooks(): boolean {
    return this.assets.some(({ firstBookUs }) => firstBookUs !== undefined);
  }

  get market(): MarketStatement | undefined {
    return this.#market;
  }

  /** Takes what Gamma states about the market. Returns true if it states what was not known. */
  list(market: MarketStatement): boolean {
    const before = this.#market;
    this.#market = market;
    this.#isResolved = isWhole(market);
    if (before === undefined) {
      const { conditionId, slug } = market;
      this.assets = market.clobTokenIds.map(
        (id, index) => new WatchedAsset({ id, conditionId, slug, outcome: OUTCOMES[index]! }),
      );
    }
    return before === undefined || (this.#isResolved && !isWhole(before)) || market.winner !== before.winner;
  }

  /** True if its assets should be subscribed at a time. */
  isWanted(nowMs: InstantMs): boolean {
    const { startMs, endMs } = this.window;
    return (
      this.#market !== undefined && nowMs >= startMs - SUBSCRIBED_BEFORE_MS && nowMs < endMs + UNSUBSCRIBED_AFTER_MS
    );
  }

  /** True if its market is known. After its end it is enough that an earlier recorder knew it: only the winner is asked for then. */
  isKnown(nowMs: InstantMs): boolean {
    const wasKnown = typeof this.earlier?.conditionId === 'string';
    return this.#market !== undefined || (wasKnown && nowMs >= this.window.endMs);
  }

  /** True if Gamma should be asked for it: for its market until its end, then for its winner. */
  isAskedFor(nowMs: InstantMs): boolean {
    const { endMs } = this.window;
    if (!this.isKnown(nowMs)) return nowMs < endMs;
    const nextMs = ASKED_AFTER_MS[this.asked];
    return !this.#isResolved && nextMs !== undefined && nowMs >= endMs + nextMs;
  }

  state(nowMs: InstantMs): WindowState {
    const { startMs, endMs } = this.window;
    if (!this.isKnown(nowMs)) return this.isMissed ? 'missed' : 'wanted';
    if (nowMs < endMs) return this.isSubscribed ? (nowMs < startMs ? 'subscribed' : 'recording') : 'listed';
    if (this.#isResolved) return 'resolved';
    return this.asked < ASKED_AFTER_MS.length ? 'ended' : 'unresolved';
  }

  /** The facts that Gamma has not stated after the last question, as words. */
  missingFacts(): string[] {
    const { winner, priceStart, priceEnd } = this.#market ?? {};
    const facts = { winner, 'strike price': priceStart, 'final price': priceEnd };
    return Object.entries(facts).flatMap(([name, value]) => (value === undefined ? [name] : []));
  }

  status(nowMs: InstantMs): RecordedWindow {
    const { slug, symbol, timeframe, startMs, endMs } = this.window;
    const ms = (us: number | undefined) => (us === undefined ? null : Math.floor(us / US_PER_MS));
    const [up, down] = this.assets;
    return {
      ...{ slug, symbol, timeframe, startMs, endMs },
      conditionId: this.#market?.conditionId ?? this.earlier?.conditionId ?? null,
      state: this.state(nowMs),
      firstBookMs: [ms(up?.firstBookUs), ms(down?.firstBookUs)],
      // A recorder that ends before the first book leaves this to the next one.
      lastEventMs: [
        ms(up?.lastEventUs) ?? this.earlier?.fromMs[0] ?? null,
        ms(down?.lastEventUs) ?? this.earlier?.fromMs[1] ?? null,
      ],
      gaps: this.assets.reduce((sum, { gaps }) => sum + gaps, 0),
    };
  }
}

function isWhole({ winner, priceStart, priceEnd }: MarketStatement): boolean {
  return winner !== undefined && priceStart !== undefined && priceEnd !== undefined;
}
