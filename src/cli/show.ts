import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { bookDepth, instant, outcome, speed } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import type { CoverageResource } from '../domain/coverage.ts';
import { formatInstant, INSTANT_MAX_MS, type InstantMs } from '../domain/instant.ts';
import { assetIdOf, marketResource } from '../domain/market.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { OUTCOMES, type Outcome } from '../domain/outcome.ts';
import { recordedText } from '../domain/recorded-time.ts';
import type { SnapshotResource } from '../domain/snapshot-resource.ts';
import { coverageResource, untilOf } from '../http/v1/coverage.ts';
import { BookReader, bookOf } from '../segment/book-decoder.ts';
import type { Archive } from '../store/archive.ts';
import { Coverages } from '../store/coverage.ts';
import type { StoredMarket } from '../store/markets.ts';
import type { Found } from '../store/series-walk.ts';
import { ladderText } from './ladder-text.ts';
import { namedMarket } from './named-market.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { type Column, table } from './table.ts';
import { json, printable, type Terminal } from './terminal.ts';
import { LOOK, withArchive } from './with-archive.ts';

type ShowOptions = OptionsOf<typeof declared>;

/** The book of an outcome at an instant. */
interface ShownBook {
  readonly id: number;
  readonly timestampMs: InstantMs;
  readonly book: OrderBook;
}

const DEPTH_DEFAULT = 10;
/** Gaps in the text; --json has more. */
const GAPS_SHOWN_MAX = 10;
/** A terminal is repainted at most this often. */
const FRAME_MS = 100;
/** The longest delay that a timer takes. */
const WAIT_MS_MAX = 2 ** 31 - 1;
/** To the first column of the first line, and erase everything after it. */
const REPAINT = '\u001b[H\u001b[J';

function declared() {
  return programCommand('show')
    .description('print a market: its coverage, and its book at an instant')
    .argument('<market>', 'conditionId or slug')
    .option('--at <time>', 'the last book at or before this instant; default: the last book', instant)
    .addOption(new Option('--outcome <name>', 'outcome to show').choices(OUTCOMES).argParser(outcome).default('up'))
    .option(
      '--depth <levels>',
      `number of levels of each side, the best ones; default: ${DEPTH_DEFAULT}, with --json all`,
      bookDepth,
    )
    .option('--follow', 'play the books from --at on, or from the first one')
    .option('--speed <number>', 'playback speed: 0.1 to 1000, 1 is real time; max: every book at once', speed, 1)
    .addHelpText(
      'after',
      `
The ladder has asks above bids. TOTAL is the size of a level and of all better
ones; the bars show it, and together they are the depth chart of the book. With
--follow, --json prints one snapshot per line.

Examples:
  $ bookreel show btc-updown-5m-1776323400
  $ bookreel show btc-updown-5m-1776323400 --at 2026-04-16T07:12:00Z --outcome down --json
  $ bookreel show btc-updown-5m-1776323400 --follow --speed 10`,
    );
}

export function showCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (name, _, command) => {
    const options = command.optsWithGlobals();
    await withArchive(terminal, options, LOOK, async (archive) => {
      const market = archive.database.read(() => namedMarket(archive, name));
      if (options.follow === true) await follow(terminal, archive, market, options);
      else await show(terminal, archive, market, options);
    });
  });
}

async function show(terminal: Terminal, archive: Archive, market: StoredMarket, options: ShowOptions): Promise<void> {
  const { outcome, at = INSTANT_MAX_MS, depth } = options;
  const coverages = new Coverages(archive.database.path, nextTurn);
  const covered = await coverages.of(market);
  const coverage = coverageResource(covered, untilOf(covered.market, terminal.clock()));
  const shown = archive.database.read(() => bookAt(archive, market, outcome, at));
  if (options.json === true) {
    const snapshot = shown === undefined ? null : snapshotResource(market, outcome, shown, depth);
    terminal.out(json({ market: marketResource(market), coverage, snapshot }));
    return;
  }
  const hasBooks = coverage.outcomes.some(({ count }) => count > 0);
  const hasQuotes = archive.database.read(() => archive.quotes.sources(market, OUTCOMES).length > 0);
  const text =
    !hasBooks && hasQuotes
      ? `no books are recorded, but quotes: 'bookreel export --market ${market.slug}' prints them\n`
      : `${coverageText(terminal, coverage)}\n${bookText(outcome, shown, depth)}`;
  terminal.out(`${headingOf(market)}\n${text}`);
}

/** Plays the books until the last one: repainted in place on a terminal, elsewhere one after another. */
async function follow(
  terminal: Terminal,
  archive: Archive,
  market: StoredMarket,
  { at = 0, outcome, depth, speed, json: isJson }: ShowOptions,
): Promise<void> {
  const find = (instantMs: InstantMs, mode: 'before' | 'after') =>
    archive.database.read(() => bookAt(archive, market, outcome, instantMs, mode));
  let shown = find(at, 'before') ?? find(at, 'after');
  if (shown === undefined) {
    terminal.out(isJson === true ? '' : bookText(outcome, undefined, depth));
    return;
  }
  const textOf = (book: ShownBook) => {
    if (isJson === true) return `${JSON.stringify(snapshotResource(market, outcome, book, depth))}\n`;
    const text = bookText(outcome, book, depth);
    return terminal.outIsTerminal ? `${REPAINT}${headingOf(market)}\n${text}` : `${text}\n`;
  };
  const startMs = Math.max(at, shown.timestampMs);
  const startedMs = terminal.clock();
  for (;;) {
    // Waits for its reader: a market may have more books than fit into memory.
    await terminal.write(Buffer.from(textOf(shown)));
    const next = find(shown.timestampMs + 1, 'after');
    if (next === undefined) return;
    if (speed === 'max') {
      shown = next;
      continue;
    }
    const dueMs = startedMs + (next.timestampMs - startMs) / speed;
    await Bun.sleep(Math.min(Math.max(FRAME_MS, dueMs - terminal.clock()), WAIT_MS_MAX));
    // Books that were due meanwhile are not shown: their changes are in the last of them.
    const nowMs = Math.floor(startMs + (terminal.clock() - startedMs) * speed);
    shown = find(Math.max(nowMs, next.timestampMs), 'before') ?? next;
  }
}

/** The book that `…/snapshots/at/{ts}?mode=…` finds; undefined without one. */
function bookAt(
  { snapshots }: Archive,
  market: StoredMarket,
  outcome: Outcome,
  instantMs: InstantMs,
  mode: 'before' | 'after' = 'before',
): ShownBook | undefined {
  const found = snapshots.nearest(market, outcome, instantMs, mode);
  return found === undefined ? undefined : decoded(found);
}

function decoded({ payload, head, index }: Found): ShownBook {
  const reader = new BookReader(payload, head);
  reader.advanceTo(index);
  return { id: head.ids[index]!, timestampMs: head.timestamps[index]!, book: bookOf(reader) };
}

function snapshotResource(
  market: StoredMarket,
  outcome: Outcome,
  { id, timestampMs, book }: ShownBook,
  depth: number | undefined,
): SnapshotResource {
  const levels = (prices: readonly number[], sizes: readonly number[]) =>
    prices.slice(0, depth).map((price, level) => ({ price, size: sizes[level]! }));
  return {
    id: String(id),
    assetId: assetIdOf(market, outcome),
    conditionId: market.conditionId,
    symbol: market.symbol,
    outcome,
    timeframe: market.timeframe,
    timestamp: formatInstant(timestampMs),
    bids: levels(book.bidPrices, book.bidSizes),
    asks: levels(book.askPrices, book.askSizes),
  };
}

function headingOf({ slug, conditionId, startMs, endMs, winner }: StoredMarket): string {
  const window = `${formatInstant(startMs)} to ${formatInstant(endMs)}`;
  return `${slug}\n${conditionId}\n${window}, ${winner === undefined ? 'unresolved' : `winner ${winner}`}\n`;
}

const COVERAGE_COLUMNS: readonly Column<CoverageResource['outcomes'][number]>[] = [
  { heading: 'OUTCOME', cell: ({ outcome, mirrored }) => (mirrored ? `${outcome} (mirrored)` : outcome) },
  { heading: 'SNAPSHOTS', cell: ({ count }) => count },
  { heading: 'RECORDED', cell: ({ recordedSeconds }) => `${recordedSeconds} s` },
  { heading: 'FIRST', cell: ({ first }) => first ?? '-' },
  { heading: 'LAST', cell: ({ last }) => last ?? '-' },
  { heading: 'ONE-SIDED', cell: ({ oneSided }) => oneSided },
  { heading: 'CROSSED', cell: ({ crossed }) => crossed },
  {
    heading: 'LONGEST SILENCE',
    cell: ({ longestSilence }) => (longestSilence === null ? '-' : `${longestSilence.milliseconds / 1000} s`),
  },
];

function coverageText(terminal: Terminal, coverage: CoverageResource): string {
  const { outcomes, gapCount, gaps } = coverage;
  const lines = gaps
    .slice(0, GAPS_SHOWN_MAX)
    .map(({ from, to, reason }) => `gap ${from} to ${to}: ${printable(reason)}\n`);
  const more = gapCount - lines.length;
  return `recorded ${recordedText(coverage)}\n${table(terminal, COVERAGE_COLUMNS, outcomes)}${lines.join('')}${more > 0 ? `… and ${countText(more, 'more gap')}\n` : ''}`;
}

function bookText(outcome: Outcome, shown: ShownBook | undefined, depth = DEPTH_DEFAULT): string {
  if (shown === undefined) return `no book of ${outcome} is recorded at that time\n`;
  const { id, timestampMs, book } = shown;
  return `${outcome} at ${formatInstant(timestampMs)}, snapshot ${id}\n${ladderText(book, depth)}`;
}
