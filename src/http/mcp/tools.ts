import type { Tool as ListedTool } from '@modelcontextprotocol/server';
import { differenceText, sumOfDecimals } from '../../domain/decimal.ts';
import type { ColumnResource, HeatMapResource } from '../../domain/heat-map-resource.ts';
import { parseInstant } from '../../domain/instant.ts';
import { INTERVAL_MS_MAX, INTERVAL_MS_MIN } from '../../domain/interval.ts';
import type { MarketWithCounts } from '../../domain/market.ts';
import { midOf } from '../../domain/quote.ts';
import { shellWord } from '../../domain/shell-word.ts';
import type { SnapshotResource } from '../../domain/snapshot-resource.ts';
import type { Fields } from '../../record/fields.ts';
import { PATH } from '../parameters/path.ts';
import { QUERY, TIME_FORMATS } from '../parameters/query.ts';
import { ask, Refusal, rangeCoverage, type V1Service, v1Path } from './v1-service.ts';

/** The answer of a tool for the arguments of a client. Throws Refusal. */
type Answer = (service: V1Service, given: Fields) => Promise<Fields>;

/** As clients see it, but for `answer`. */
export interface Tool extends Pick<ListedTool, 'name' | 'description' | 'inputSchema'> {
  readonly answer: Answer;
}

const LISTED = 10;
const POINTS_MAX = 500;
const SUMMARY_PARTS = 12;

/** Arguments. Most are parameters of /v1, which reads and refuses them. */
const ARGUMENTS: Readonly<Record<string, object>> = {
  ...QUERY,
  coin: PATH.coin,
  market: PATH.conditionId,
  limit: { ...QUERY.limit, default: LISTED },
  depth: { type: 'integer', description: 'Number of levels of each side, the best ones.' },
  mode: { ...QUERY.mode, default: 'before' },
  skip: { ...QUERY.skip, type: 'integer' },
  // Not a list of types: some providers of models accept one type a schema.
  asOf: {
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    description: `Answers only with what was known at this instant. ${TIME_FORMATS}.`,
  },
  kind: { enum: ['book', 'coin'], description: 'book, the default: best prices and trades; coin: prices of the coin.' },
  points: { type: 'integer', minimum: 2, maximum: POINTS_MAX, default: 100, description: 'Number of points.' },
  speed: { type: 'number', description: 'Playback speed, 0.1 to 1000; 1 is real time.' },
  paused: { type: 'boolean', description: 'True: its clock is paused at first.' },
};

function tool(name: string, description: string, takes: string, mayTake: string, answer: Answer): Tool {
  const required = takes.split(' ').filter((each) => each !== '');
  const properties = Object.fromEntries([...required, ...mayTake.split(' ')].map((each) => [each, ARGUMENTS[each]]));
  const schema = { type: 'object', properties, required, additionalProperties: false };
  // Through JSON, to remove the functions that read values. Patterns are long, and the descriptions say the same.
  const text = JSON.stringify(schema, (key, value: unknown) => (key === 'pattern' ? undefined : value));
  return { name, description, inputSchema: JSON.parse(text) as ListedTool['inputSchema'], answer };
}

const MARKET = 'coin market';

/** In the order of a first use. All read only, but replay_create may start a replay. */
export const TOOLS: readonly Tool[] = [
  tool(
    'find_markets',
    `Lists recorded markets of a coin, by default ${LISTED}, the latest window first, with winner, volume, and how much of each window is recorded. Without a coin: the coins, and how much is recorded of each.`,
    '',
    'coin tf search date from to winner recorded closed gaps volumeMin sort limit skip asOf',
    async (service, { coin, limit = LISTED, ...filters }) => {
      if (coin === undefined)
        return { coins: (await ask(service, v1Path(['coins'], '', { asOf: filters.asOf }))).data };
      const path = v1Path([coin], '/markets', { ...filters, limit, include: 'counts' });
      const { data, pagination } = await ask<MarketWithCounts[]>(service, path);
      // Ids of the venue are long: the tool `market` has them.
      const shown = data.map(
        ({ clobTokenIds, marketId, eventId, outcomes, createdAt, updatedAt, ...market }) => market,
      );
      return { markets: shown, pagination };
    },
  ),
  tool(
    'market',
    'Shows all fields of a market: window, winner, prices of the coin at its start and end, volume, ids, and how much of its window is recorded.',
    MARKET,
    'asOf',
    async (service, { coin, market, asOf }) => ({
      market: (await ask(service, v1Path([coin, market], '', { include: 'counts', asOf }))).data,
    }),
  ),
  tool(
    'coverage',
    'Says what is recorded of a market and what is missing: recorded seconds, gaps with their reasons, numbers of books and of doubtful books, the longest silence. Read it before you trust a result.',
    MARKET,
    'asOf',
    async (service, { coin, market, asOf }) => ({
      coverage: (await ask(service, v1Path([coin, market], '/coverage', { asOf }))).data,
    }),
  ),
  tool(
    'book_at',
    'Shows the order books of a market at an instant (ts): levels are [price, shares], the best first, by default 10 of each side. By default it is the last book at or before the instant, so nothing later is seen.',
    `${MARKET} ts`,
    'outcome depth mode maxDistance asOf',
    async (service, given) => {
      const [found, another] = (await nearest(service, { depth: 10, ...given })).data;
      if (another !== undefined) throw new Refusal('ts must be one instant: compare_instants takes several');
      const { ts, distance, data } = found!;
      const levels = (side: SnapshotResource['bids']) => side.map(({ price, size }) => [price, size]);
      const books = data.map(({ outcome, id, timestamp, bids, asks }) => [
        outcome,
        { id, timestamp, bids: levels(bids), asks: levels(asks) },
      ]);
      const times = data.map(({ timestamp }) => timestamp);
      const coverage = await rangeCoverage(service, given, [ts, ...times]);
      return { ts, distanceMs: distance, books: Object.fromEntries(books), coverage };
    },
  ),
  tool(
    'series',
    `Shows in at most ${POINTS_MAX} points how a market, or its coin, changed over a range, by default over its window, and says what it left out.`,
    MARKET,
    'kind outcome from to points asOf',
    async (service, { kind = 'book', points = 100, ...given }) => {
      if (!Number.isInteger(points) || Number(points) < 2 || Number(points) > POINTS_MAX)
        throw new Refusal(`points must be an integer from 2 to ${POINTS_MAX}`);
      if (kind === 'coin') return await coinSeries(service, given, Number(points));
      if (kind !== 'book') throw new Refusal('kind must be book or coin');
      const { from, to, outcome, columns } = await heatMap(service, given, Number(points));
      const sinceMs = (time: string) => Date.parse(time) - Date.parse(from);
      const rows = columns.map((column) => [sinceMs(column.to), column.bidPrice, column.askPrice, column.trades]);
      const note = `a point is the book at the end of an equal part of the range, null where a side is empty or the book is not known, and the number of trades in the part; other books of the part were left out`;
      const coverage = await rangeCoverage(service, given, [from, to]);
      return { outcome, from, to, columns: ['ms after from', 'bid', 'ask', 'trades'], points: rows, note, coverage };
    },
  ),
  tool(
    'summary',
    `Sums up a market, or a range of it: its fields, its coverage, best prices of an outcome at the end, all its trades, and the same for ${SUMMARY_PARTS} equal parts.`,
    MARKET,
    'outcome from to asOf',
    async (service, given) => {
      const { coin, market, asOf } = given;
      const { data } = await ask(service, v1Path([coin, market], '', { include: 'counts', asOf }));
      const { from, to, outcome, columns } = await heatMap(service, given, 1);
      const parts = (await heatMap(service, given, SUMMARY_PARTS)).columns.map(partOf);
      const coverage = await rangeCoverage(service, given, [from, to]);
      return { market: data, outcome, from, ...partOf(columns[0]!), parts, coverage };
    },
  ),
  tool(
    'compare_instants',
    'Compares the books of an outcome, by default up, at several instants (ts): best bid and ask, midpoint, its exact change since the row before, and the shares within depth levels of each side, by default one. By default each is the last book at or before its instant.',
    `${MARKET} ts`,
    'outcome depth mode maxDistance asOf',
    async (service, given) => {
      const { data: found, next } = await nearest(service, { outcome: 'up', depth: 1, ...given });
      let before: number | undefined;
      const rows = found.map(({ ts, data: [book] }) => {
        if (book === undefined) return { ts, timestamp: null };
        const [bid, ask] = [book.bids[0]?.price, book.asks[0]?.price];
        const mid = midOf({ bidPrice: bid, askPrice: ask });
        const change = mid === undefined || before === undefined ? null : Number(differenceText(mid, before));
        before = mid ?? before;
        const [bidShares, askShares] = [book.bids, book.asks].map((side) =>
          sumOfDecimals(side.map(({ size }) => size)),
        );
        const top = { bid: bid ?? null, ask: ask ?? null, mid: mid ?? null, change };
        return { ts, timestamp: book.timestamp, ...top, bidShares, askShares };
      });
      const times = found.map(({ ts }) => ts);
      return { rows, next, coverage: await rangeCoverage(service, given, times) };
    },
  ),
  tool(
    'export_link',
    'Makes a link, or a command, for a market as a file with all books, quotes, prices and trades. Never answers with the file. The link needs the key, and does not contain it.',
    MARKET,
    'format shape type numbers from to outcome interval depth asOf',
    async (service, { coin, market, ...given }) => {
      const path = v1Path([coin, market], '/export', given);
      const head = await service.send(path, { method: 'HEAD' });
      // An answer to HEAD has no sentence.
      if (!head.ok) await ask(service, path);
      const [, file] = /filename="(.+)"/.exec(head.headers.get('content-disposition') ?? '') ?? [];
      const output = ` -o ${shellWord(file ?? 'recording')}`;
      const coverage = await rangeCoverage(service, { coin, market, asOf: given.asOf }, []);
      const url = `${service.origin}${path}`;
      const curl = `curl -H "Authorization: Bearer $BOOKREEL_KEY"${output} ${shellWord(url)}`;
      if (service.origin !== undefined) return { url, command: curl, coverage };
      if (given.asOf !== undefined) throw new Refusal("'bookreel export' has no asOf: leave it out");
      return { command: `bookreel export${flagsOf({ market, ...given })}${service.flags}${output}`, coverage };
    },
  ),
  tool(
    'replay_create',
    'Creates a replay of a market, in which a bot trades on the recording as if it were live. Where the service does not replay, answers with the command that does.',
    MARKET,
    'from to speed paused',
    async (service, { coin, market, ...given }) => {
      const origin = service.origin ?? null;
      try {
        const body = JSON.stringify({ ...given, markets: [market] });
        const { data: replay } = await ask(service, '/v1/replays', { method: 'POST', body });
        return { origin, replay, coverage: await rangeCoverage(service, { coin, market }, []) };
      } catch (error) {
        if (!(error instanceof Refusal && error.status === 404)) throw error;
        // Throws for a market that the key may not read.
        const { data } = await ask<MarketWithCounts>(service, v1Path([coin, market], ''));
        const command = `bookreel replay${flagsOf({ market: data.slug, ...given })}${service.flags}`;
        const note = 'this service does not replay: run the command where the recordings are';
        return { replay: null, note, command, coverage: await rangeCoverage(service, { coin, market }, []) };
      }
    },
  ),
];

interface Nearest {
  readonly ts: string;
  readonly distance: number | null;
  readonly data: readonly SnapshotResource[];
}

/** The books at each instant, by default the last ones at or before it; `next`: the first instant without an answer, or null. */
async function nearest(service: V1Service, { coin, market, ...given }: Fields) {
  return await ask<Nearest[]>(service, v1Path([coin, market], '/snapshots/at', { mode: 'before', ...given }));
}

async function heatMap(service: V1Service, { coin, market, ...given }: Fields, columns: number) {
  return (await ask<HeatMapResource>(service, v1Path([coin, market], '/heatmap', { ...given, columns }))).data;
}

/** A column without its rows. */
function partOf({ to, gap, bidPrice, askPrice, mid, trades, tradedShares, tradeLow, tradeHigh }: ColumnResource) {
  return { to, gap, bidPrice, askPrice, mid, trades, tradedShares, tradeLow, tradeHigh };
}

/** The prices of a market's coin, by source. */
async function coinSeries(
  service: V1Service,
  { coin, market, asOf, ...given }: Fields,
  points: number,
): Promise<Fields> {
  const { data: window } = await ask<MarketWithCounts>(service, v1Path([coin, market], '', { asOf }));
  const { from = window.startTime, to = window.endTime } = given;
  const [fromMs = 0, toMs = 0] = [from, to].map((time) => parseInstant(String(time)));
  // Buckets begin at multiples of the interval: a range of so many touches one more.
  const interval = Math.min(INTERVAL_MS_MAX, Math.max(INTERVAL_MS_MIN, Math.ceil((toMs - fromMs + 1) / (points - 1))));
  const path = v1Path([coin], '/prices', { from, to, interval: `${interval}ms`, limit: POINTS_MAX, asOf });
  const { data, nextCursor } = await ask<{ source: string; timestamp: string; price: number }[]>(service, path);
  const rows = Object.entries(Object.groupBy(data, ({ source }) => source)).map(([source, prices = []]) => [
    source,
    prices.map(({ timestamp, price }) => [Date.parse(timestamp) - fromMs, price]),
  ]);
  const later = nextCursor === null ? '' : ', and so were all later ones: ask for fewer points';
  const note = `a point is the last price of ${interval} ms; others were left out${later}`;
  const coverage = await rangeCoverage(service, { coin, market, asOf }, [fromMs, toMs]);
  return { from, to, columns: ['ms after from', 'price'], points: Object.fromEntries(rows), note, coverage };
}

/** Arguments as flags of a command. */
function flagsOf(given: Fields): string {
  const flags = Object.entries(given).filter(([, value]) => value !== undefined && value !== false);
  return flags.map(([name, value]) => ` --${name}${value === true ? '' : ` ${shellWord(String(value))}`}`).join('');
}
