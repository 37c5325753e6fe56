import { type Command, Option } from 'commander';
import { instant, speed } from '../config.ts';
import type { InstantMs } from '../domain/instant.ts';
import { TIMEFRAMES, type Timeframe } from '../domain/timeframe.ts';
import type { AskedReplay } from '../http/replay/replay-resource.ts';
import { GAP_MODES, type GapMode } from '../replay/replay.ts';
import type { Speed } from '../replay/replay-clock.ts';
import { coins, market, timeframes } from './export.ts';

/** What a replay is made of, as flags say it. */
export interface SelectionFlags {
  readonly market?: readonly string[];
  readonly coin?: readonly string[];
  readonly tf?: readonly Timeframe[];
  readonly from?: InstantMs;
  readonly to?: InstantMs;
  readonly speed: Speed;
  readonly gaps: GapMode;
  readonly rebase?: 'now';
  readonly paused?: true;
}

/** Adds the flags that say what is replayed, and how. */
export function addSelectionFlags(command: Command): Command {
  return command
    .option('--market <name>', 'only this market, by conditionId or slug; may be repeated', market)
    .option('--coin <list>', 'only markets of these coins, like btc,eth', coins)
    .option('--tf <list>', `only markets of these timeframes (${TIMEFRAMES.join(', ')})`, timeframes)
    .option('--from <time>', 'where it begins; without: at the first book of those markets', instant)
    .option('--to <time>', 'where it ends, inclusive; without: at their last record', instant)
    .option('--speed <number>', 'recorded seconds a second, 0.1 to 1000, or max: as fast as clients read', speed, 1)
    .addOption(
      new Option('--gaps <mode>', 'at a gap of the recording: disconnect sockets, as it was, or ignore it')
        .choices(GAP_MODES)
        .default('disconnect'),
    )
    .addOption(new Option('--rebase <instant>', 'now: shift times as if it all happened from now on').choices(['now']))
    .option('--paused', 'wait to be resumed');
}

/** The same as a body of /v1/replays. */
export function requestOf({ market, coin, tf, ...flags }: SelectionFlags): AskedReplay {
  const { from, to, speed, gaps, rebase, paused } = flags;
  return { markets: market, coins: coin, timeframes: tf, from, to, speed, gaps, rebase, paused };
}
