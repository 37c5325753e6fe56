import { type Gap, lossReason } from '../domain/gap.ts';
import type { InstantMs } from '../domain/instant.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { LISTED_MAX, type MissedWindow, type RecordedWindow, type RecorderGap } from '../domain/recorder-status.ts';
import type { Journal } from './journal.ts';
import type { EarlierRecording } from './recorded-window.ts';
import type { RecorderClock } from './recorder-clock.ts';
import type { Loss, WatchedAsset } from './watched-asset.ts';

const GAPS_KEPT_MS = 24 * 3_600_000;

type Window = Pick<RecordedWindow, 'slug' | 'startMs' | 'endMs'>;

/** The gaps that a recorder writes to its journal, and those of the last day as a list. */
export class WrittenGaps {
  readonly #journal: Pick<Journal, 'append'>;
  readonly #clock: RecorderClock;
  /** The latest first. */
  listed: readonly RecorderGap[] = [];
  /** The windows that began without a market, the latest first. */
  missed: readonly MissedWindow[] = [];
  count = 0;
  missedCount = 0;

  constructor(journal: Pick<Journal, 'append'>, clock: RecorderClock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  writeLoss(asset: WatchedAsset, { fromMs, reason }: Loss, toMs: InstantMs): void {
    const { conditionId, slug, outcome } = asset;
    asset.gaps += 1;
    this.#write(conditionId, slug, outcome, { fromMs, toMs, reason });
  }

  /** The market is over: no book ends its loss. */
  endLoss(asset: WatchedAsset, endMs: InstantMs): void {
    const { loss } = asset;
    if (loss !== undefined && loss.fromMs < endMs) this.writeLoss(asset, loss, endMs);
  }

  /** Writes the gaps of a window that an earlier recorder had begun and this one has not recorded, up to its end. */
  writeEarlier(earlier: EarlierRecording | undefined, { slug, endMs }: Window): void {
    for (const [index, outcome] of OUTCOMES.entries()) {
      const fromMs = earlier?.fromMs[index] ?? null;
      if (earlier === undefined || earlier.conditionId === null || fromMs === null || fromMs >= endMs) continue;
      this.#write(earlier.conditionId, slug, outcome, { fromMs, toMs: endMs, reason: earlier.reason });
    }
  }

  /** Call it when a window begins without a market, which may still come. */
  noteMissed({ slug, startMs }: Window): void {
    const reason = 'Gamma did not list its market before it began';
    this.missed = [{ slug, startMs, reason }, ...this.missed].slice(0, LISTED_MAX);
    this.missedCount += 1;
  }

  /** Writes a window that is over and never had a market. */
  writeMissed({ slug, startMs: fromMs, endMs: toMs }: Window): void {
    this.#append({ slug }, { fromMs, toMs, reason: 'Gamma did not list its market before it ended' });
  }

  /** The gaps of assets whose messages are missing now. */
  openOf(assets: Iterable<WatchedAsset>): RecorderGap[] {
    return [...assets].flatMap(({ slug, outcome, loss }) =>
      loss === undefined ? [] : [{ slug, outcome, fromMs: loss.fromMs, toMs: null, reason: loss.reason }],
    );
  }

  /** Forgets the gaps of more than a day ago. */
  forget(nowMs: InstantMs): void {
    this.listed = this.listed.filter(({ fromMs }) => nowMs - fromMs < GAPS_KEPT_MS);
  }

  #write(conditionId: string, slug: string, outcome: Outcome, { fromMs, toMs, reason }: Gap): void {
    this.count += 1;
    this.listed = [{ slug, outcome, fromMs, toMs, reason }, ...this.listed].slice(0, LISTED_MAX);
    this.#append({ conditionId }, { fromMs, toMs, reason: lossReason(reason, outcome) });
  }

  #append(market: { readonly conditionId: string } | { readonly slug: string }, gap: Gap): void {
    this.#journal.append({ receivedUs: this.#clock.nowUs(), market, gap }, { isForced: true });
  }
}
