import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { entryLimit, instant, skipped } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { marketAsOf } from '../domain/market-as-of.ts';
import { marketState } from '../domain/market-state.ts';
import { recordedSeconds, recordedText } from '../domain/recorded-time.ts';
import { TIMEFRAMES } from '../domain/timeframe.ts';
import { selectedCoins } from '../export/selection.ts';
import { marketWithCounts } from '../http/v1/market-resource.ts';
import type { Archive } from '../store/archive.ts';
import type { StoredMarket } from '../store/markets.ts';
import { coins, timeframes } from './export.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, minuteText, type Terminal } from './terminal.ts';
import { LOOK, withArchive } from './with-archive.ts';

const LIMIT = 100;

type MarketsOptions = OptionsOf<typeof declared>;

function declared() {
  return programCommand('markets')
    .description('list the markets of an archive, the latest of each coin first')
    .option('--coin <list>', 'only these coins, like btc,eth', coins)
    .option('--tf <list>', `only markets of these timeframes (${TIMEFRAMES.join(', ')})`, timeframes)
    .option('--recorded', 'only markets with order book snapshots')
    .option('--no-recorded', 'only markets without order book snapshots')
    .option('--closed', 'only markets in which trading has ended')
    .option('--no-closed', 'only markets in which trading has not ended')
    .option('--from <time>', 'only markets whose window ends then or later', instant)
    .option('--to <time>', 'only markets whose window starts then or earlier', instant)
    .option('--as-of <time>', 'as the archive was known then, without anything later', instant)
    .option('--limit <number>', 'maximum number of markets', entryLimit, LIMIT)
    .option('--skip <number>', 'number of markets to leave out at the beginning', skipped, 0)
    .addHelpText(
      'after',
      `
The filters are those of /v1/{coin}/markets. STATE is the winner; open
before the end of the window; - after it, if no winner is recorded. RECORDED is
the part of the window between books at most a minute apart, without gaps.
Markets with equal windows are in the order of their conditionIds, which --json
prints with all other fields.

Examples:
  $ bookreel markets --coin btc --tf 5m,15m --recorded
  $ bookreel markets --from 2026-04-16 --to 2026-04-17 --no-recorded --json`,
    );
}

export function marketsCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (_, command) => {
    const options = command.optsWithGlobals();
    if ((options.from ?? 0) > (options.to ?? Number.MAX_SAFE_INTEGER)) {
      throw new DomainError('invalid-parameter', '--from must not be later than --to');
    }
    await withArchive(terminal, options, LOOK, (archive) =>
      archive.database.read(() => print(terminal, options, archive)),
    );
  });
}

function print(terminal: Terminal, options: MarketsOptions, archive: Archive): void {
  const { asOf: asOfMs, limit, skip } = options;
  const found: StoredMarket[] = [];
  let position = 0;
  for (const market of listed(archive, options)) {
    position += 1;
    if (position > skip) found.push(market);
    if (found.length > limit) break;
  }
  const shown = found.slice(0, limit);
  if (options.json === true) {
    terminal.out(json(shown.map((market) => marketWithCounts(archive, market, asOfMs))));
    return;
  }
  const stateOf = (market: StoredMarket) => {
    const state = marketState(asOfMs === undefined ? market : marketAsOf(market, asOfMs), asOfMs ?? terminal.clock());
    return state === 'over' ? '-' : state;
  };
  const columns: readonly Column<StoredMarket>[] = [
    { heading: 'MARKET', cell: ({ slug }) => slug },
    { heading: 'START (UTC)', cell: ({ startMs }) => minuteText(startMs) },
    { heading: 'STATE', cell: stateOf },
    { heading: 'SNAPSHOTS', cell: ({ key }) => archive.snapshotTotals.count(key, asOfMs) },
    {
      heading: 'RECORDED',
      cell: (market) => recordedText(recordedSeconds(market, archive.recordedTimes.ofMarket(market.key, asOfMs))),
    },
  ];
  terminal.out(shown.length === 0 ? 'no market matches\n' : table(terminal, columns, shown));
  if (found.length > limit) terminal.err(`more markets follow: see them with --skip ${skip + limit}\n`);
}

/** The markets that the filters take, by coin, the latest of each coin first. */
function* listed(archive: Archive, options: MarketsOptions): Generator<StoredMarket> {
  const { tf, recorded, closed, from: fromMs = 0, to: toMs = Number.MAX_SAFE_INTEGER, asOf: asOfMs } = options;
  const [only, ...others] = new Set(tf);
  const filter = { timeframe: others.length === 0 ? only : undefined, recorded, closed, fromMs, toMs };
  for (const coin of selectedCoins(archive, options.coin)) {
    for (const market of archive.markets.filtered(coin, filter, asOfMs)) {
      if (tf === undefined || tf.includes(market.timeframe)) yield market;
    }
  }
}
