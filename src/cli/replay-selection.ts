import { type Command, Option } from 'commander';
import { instant, speed } from '../config.ts';
import type { InstantMs } from '../domain/instant.ts';
import { TIMEFRAMES, type Timeframe } from '../domain/timeframe.ts';
import type { AskedReplay } from '../http/replay/replay-resource.ts';
import { MIRROR_MODES, type MirrorMode } from '../replay/market-state.ts';
import { GAP_MODES, type GapMode } from '../replay/replay.ts';
import type { Speed } from '../replay/replay-clock.ts';
import { coins, market, timeframes } from './export.ts';

/** The flags that select a replay's markets and set its clock. */
export interface SelectionFlags {
  readonly market?: readonly string[];
  readonly coin?: readonly string[];
  readonly tf?: readonly Timeframe[];
  readonly from?: InstantMs;
  readonly to?: InstantMs;
  readonly speed: Speed;
  readonly gaps: GapMode;
  readonly mirror: MirrorMode;
  readonly strict?: true;
  readonly rebase?: 'now';
  readonly paused?: true;
}

/** Adds the flags that select a replay's markets and set its clock. */
export function addSelectionFlags(command: Command): Command {
  return command
    .option('--market <name>', 'only this market, by conditionId or slug; may be repeated', market)
    .option('--coin <list>', 'only markets of these coins, like btc,eth', coins)
    .option('--tf <list>', `only markets of these timeframes (${TIMEFRAMES.join(', ')})`, timeframes)
    .option('--from <time>', 'start of the replay; default: the first book of its markets', instant)
    .option('--to <time>', 'end of the replay, inclusive; default: their last record', instant)
    .option('--speed <number>', 'playback speed: 0.1 to 1000, 1 is real time; max: as fast as clients read', speed, 1)
    .addOption(
      new Option('--gaps <mode>', 'disconnect sockets at a gap in the recording, or ignore it')
        .choices(GAP_MODES)
        .default('disconnect'),
    )
    .addOption(
      new Option(
        '--mirror <mode>',
        "fresh: the later one of an outcome's own book and the mirror of the other's; recorded: its own",
      )
        .choices(MIRROR_MODES)
        .default('fresh'),
    )
    .addOption(
      new Option(
        '--rebase <instant>',
        'now: move times and slugs so that the market of the present is open at the start',
      ).choices(['now']),
    )
    .option('--strict', 'refuse what the venue refuses: a second opening frame, PING before a subscription')
    .option('--paused', 'start with a paused clock');
}

/** The body of a POST to /v1/replays for these flags. */
export function requestOf({ market, coin, tf, ...flags }: SelectionFlags): AskedReplay {
  const { from, to, speed, gaps, mirror, strict, rebase, paused } = flags;
  return { markets: market, coins: coin, timeframes: tf, from, to, speed, gaps, mirror, strict, rebase, paused };
}
