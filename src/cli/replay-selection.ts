import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { delay, dollars, instant, speed, takerDelay } from '../config.ts';
import { TIMEFRAMES } from '../domain/timeframe.ts';
import type { AskedReplay } from '../http/replay/replay-resource.ts';
import { QUEUES } from '../paper/paper-market.ts';
import { MIRROR_MODES } from '../replay/market-state.ts';
import { GAP_MODES } from '../replay/replay.ts';
import { coins, market, timeframes } from './export.ts';
import type { GlobalOptions, NoOptions } from './program-command.ts';

/** Some of the flags that select a replay's markets and set its clock. */
type SelectionFlags = Flags<ReturnType<ReturnType<typeof addSelectionFlags<NoOptions>>['opts']>>;
type Flags<All> = { readonly [Name in keyof All]?: All[Name] | undefined };

/** Adds the flags that select a replay's markets. */
export function addMarketFlags<Own extends OptionValues>(command: Command<[], Own, GlobalOptions>) {
  return command
    .option('--market <name>', 'only this market, by conditionId or slug; may be repeated', market)
    .option('--coin <list>', 'only markets of these coins, like btc,eth', coins)
    .option('--tf <list>', `only markets of these timeframes (${TIMEFRAMES.join(', ')})`, timeframes)
    .option('--from <time>', 'start of the replay; default: the first book of its markets', instant)
    .option('--to <time>', 'end of the replay, inclusive; default: their last record', instant)
    .option('--speed <number>', 'playback speed: 0.1 to 1000, 1 is real time; max: as fast as clients read', speed, 1);
}

/** Adds the flags about accounts, but for the queue. `when`: their condition. */
export function addAccountFlags<Own extends OptionValues>(command: Command<[], Own, GlobalOptions>, when = '') {
  return command
    .option('--cash <dollars>', `${when}the dollars of each account at first; default: 1000`, dollars)
    .option('--latency <time>', `${when}from sending an order to its arrival; default: 40ms`, delay)
    .option('--taker-delay <time>', `${when}how long orders that match are held; default: venue`, takerDelay)
    .addOption(
      new Option('--fees <mode>', `${when}the fees of the venue, the default, or none`).choices(['venue', 'none']),
    );
}

/** Adds the flags that select a replay's markets and set its clock. */
export function addSelectionFlags<Own extends OptionValues>(command: Command<[], Own, GlobalOptions>) {
  const selecting = addMarketFlags(command)
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
    .option('--loop', 'with --rebase now: begin again with the next window when the replay ends')
    .option('--arrival', "send records when they had arrived at their recorder, not at the venue's time")
    .option('--strict', 'refuse what the venue refuses: a second opening frame, PING before a subscription')
    .option('--paused', 'start with a paused clock')
    .option('--paper', 'take orders, and match them with the recorded books');
  return addAccountFlags(selecting, 'with --paper: ').addOption(
    new Option(
      '--queue <place>',
      'with --paper: behind all recorded shares at the price, the default, half or none',
    ).choices(QUEUES),
  );
}

/** The body of a POST to /v1/replays for these flags. */
export function requestOf({ market, coin, tf, ...flags }: SelectionFlags): AskedReplay {
  const { from, to, speed, gaps, mirror, arrival, strict, rebase, loop, paused } = flags;
  const { paper, cash, latency, takerDelay, fees, queue } = flags;
  const selection = { markets: market, coins: coin, timeframes: tf, from, to };
  const clock = { speed, gaps, mirror, arrival, strict, rebase, loop, paused };
  return { ...selection, ...clock, paper, cash, latency, takerDelay, fees, queue };
}
