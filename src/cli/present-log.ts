import { countText } from '../domain/count-text.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import type { Log } from '../http/plugins/log.ts';
import type { Replay } from '../replay/replay.ts';
import type { Replays } from '../replay/replays.ts';

/** How often clocks are read: a replay at any speed opens few windows in this time. */
const CHECK_MS = 1000;
/** Maximum number of markets that are named each time. */
const NAMED_MAX = 50;

/** The part of a replay that the log has: with this shift, the windows that start up to `untilMs`, inclusive. */
interface Logged {
  readonly shiftMs: number;
  readonly untilMs: InstantMs;
}

/**
 * Names in the log the recorded market for each slug of rebased replays: when a replay starts or jumps, those of the open
 * markets, and then each when its window opens. Warns of markets that no bot finds by its clock.
 */
export class PresentLog implements Disposable {
  readonly #replays: Replays;
  readonly #log: Log;
  readonly #logged = new WeakMap<Replay, Logged>();
  #stops: readonly (() => void)[] = [];

  constructor(replays: Replays, log: Log) {
    this.#replays = replays;
    this.#log = log;
  }

  /** Writes what is known now, and follows the clocks until it is disposed of. */
  start(): void {
    const timer = setInterval(() => this.#check(), CHECK_MS);
    this.#stops = [() => clearInterval(timer), this.#replays.onSteer(() => this.#check())];
    this.#check();
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
  }

  #check(): void {
    for (const replay of this.#replays.list()) {
      if (replay.options.rebase) this.#follow(replay);
    }
  }

  #follow(replay: Replay): void {
    const { id, shiftMs, clock, archive } = replay;
    const { nowMs } = clock;
    const before = this.#logged.get(replay);
    const isNew = before === undefined || before.shiftMs !== shiftMs || nowMs < before.untilMs;
    this.#logged.set(replay, { shiftMs, untilMs: nowMs });
    if (isNew) this.#nameStart(replay, nowMs);
    const afterMs = isNew ? -Infinity : before.untilMs;
    const opened = replay.windowsStarting(afterMs, nowMs).filter(({ endMs }) => !isNew || endMs > nowMs);
    for (const { key } of opened.slice(0, NAMED_MAX)) {
      const market = archive.database.read(() => replay.marketByKey(key));
      if (market === undefined) continue;
      const { slug } = replay.asSent(market);
      this.#log.info(`replay ${id}: ${slug} is the recorded market ${market.slug}, ${market.conditionId}`);
    }
    const more = opened.length - NAMED_MAX;
    if (more > 0) this.#log.info(`replay ${id}: ${countText(more, 'more market')} opened`);
  }

  #nameStart(replay: Replay, nowMs: InstantMs): void {
    const { id, shiftMs, aheadMs, waitMs } = replay;
    this.#log.info(`replay ${id}: ${formatInstant(nowMs)} is moved to ${formatInstant(nowMs + shiftMs)}`);
    if (aheadMs !== 0) {
      const seconds = `${Math.abs(aheadMs) / 1000} s ${aheadMs < 0 ? 'before' : 'after'}`;
      this.#log.warn(
        `replay ${id}: its clock is ${seconds} the present: the recording does not have the present's place in its window`,
      );
    }
    if (waitMs > 0) this.#log.info(`replay ${id}: it begins in ${waitMs / 1000} s, with the window`);
    for (const [timeframe, count] of replay.misplacedWindows()) {
      this.#log.warn(
        `replay ${id}: the windows of ${countText(count, 'market')} of ${timeframe} do not start when the venue's windows start now: bots cannot find them by their clock`,
      );
    }
  }
}
