import { extname } from 'node:path';
import { type CommandUnknownOpts, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { instant, integerFrom, outcome } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { HEAT_MAP_COLUMNS_MAX, type HeatMap, type HeatMapQuery } from '../domain/heat-map.ts';
import { formatInstant } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { NewFile } from '../export/new-file.ts';
import { heatMapSvg } from '../http/pages/heat-map-svg.ts';
import type { Archive } from '../store/archive.ts';
import { heatMapSteps } from '../store/heat-map.ts';
import type { StoredMarket } from '../store/markets.ts';
import { namedMarket } from './named-market.ts';
import { type OptionsOf, programCommand } from './program-command.ts';
import { json, type Terminal } from './terminal.ts';
import { LOOK, withArchive } from './with-archive.ts';

type PlotOptions = OptionsOf<typeof declared>;

/** The picture has two pixels for each column. */
const COLUMNS_DEFAULT = 500;
const STDOUT = '-';

function declared() {
  return programCommand('plot')
    .description('draw the books of a market over time as an SVG picture: a heat map')
    .argument('<market>', 'conditionId or slug')
    .addOption(new Option('--outcome <name>', 'outcome to draw').choices(OUTCOMES).argParser(outcome).default('up'))
    .option('--from <time>', 'start, inclusive; default: the start of the market', instant)
    .option('--to <time>', 'end, inclusive; default: the end of the market', instant)
    .option(
      '--columns <number>',
      `number of columns, 1 to ${HEAT_MAP_COLUMNS_MAX}`,
      integerFrom(1, HEAT_MAP_COLUMNS_MAX),
      COLUMNS_DEFAULT,
    )
    .option('-o, --output <file>', 'file to write, .svg; - is standard output', svgFile, STDOUT)
    .option('--force', 'replace the file if it exists')
    .addHelpText(
      'after',
      `
Time goes to the right, in UTC, and price upwards. Bids are blue and asks are
orange, the darker the more shares rest at a price at that time. The line is the
midpoint. Gaps of the recording are hatched, and times without a book are grey.

Examples:
  $ bookreel plot btc-updown-5m-1776323400 -o book.svg
  $ bookreel plot btc-updown-5m-1776323400 --outcome down --from 2026-04-16T07:12:00Z -o end.svg`,
    );
}

/** Refuses a name that promises another format. */
function svgFile(path: string): string {
  if (['', '.svg'].includes(extname(path).toLowerCase())) return path;
  throw new InvalidArgumentError('It must end with .svg; the page of a market in a browser (/view) saves a PNG.');
}

export function plotCommand(terminal: Terminal): CommandUnknownOpts {
  return declared().action(async (name, _, command) => {
    const options = command.optsWithGlobals();
    await withArchive(terminal, options, LOOK, async (archive) => {
      const { market, query, map } = drawn(archive, name, options);
      const title = `${market.slug}, ${query.outcome}`;
      const svg = Buffer.from(heatMapSvg({ title, map, window: market, fromMs: query.fromMs, toMs: query.toMs }));
      if (options.output === STDOUT) {
        await terminal.write(svg);
        return;
      }
      using file = new NewFile(options.output, options.force === true);
      file.write(svg);
      file.commit();
      const { columns } = map;
      const [from, to] = [formatInstant(query.fromMs), formatInstant(query.toMs)];
      const books = columns.filter(({ book }) => book !== undefined).length;
      const report = {
        file: options.output,
        conditionId: market.conditionId,
        from,
        to,
        columns: columns.length,
        books,
      };
      terminal.out(
        options.json === true
          ? json(report)
          : `${columns.length} columns from ${from} to ${to}, ${books} of them with a book, written to '${options.output}'\n`,
      );
    });
  });
}

function drawn(archive: Archive, name: string, options: PlotOptions) {
  return archive.database.read(() => {
    const market = namedMarket(archive, name);
    const query = queryOf(market, options);
    return { market, query, map: wholeHeatMap(archive, market, query) };
  });
}

/** Throws 'invalid-parameter' for a window that ends before it begins. */
function queryOf(market: StoredMarket, { outcome, from, to, columns }: PlotOptions): HeatMapQuery {
  const query = { outcome, fromMs: from ?? market.startMs, toMs: to ?? market.endMs, columns, asOfMs: undefined };
  if (query.fromMs <= query.toMs) return query;
  const { fromMs, toMs } = query;
  throw new DomainError(
    'invalid-parameter',
    `the picture would begin at ${formatInstant(fromMs)}, after its end at ${formatInstant(toMs)}: change --from or --to`,
  );
}

export function wholeHeatMap(archive: Archive, market: StoredMarket, query: HeatMapQuery): HeatMap {
  const steps = heatMapSteps(archive, market, query);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
