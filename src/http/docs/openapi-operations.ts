import { type TSchema, Type } from 'typebox';
import { CoinCode } from '../../domain/coin.ts';
import { CoverageResource } from '../../domain/coverage.ts';
import { instantText } from '../../domain/instant.ts';
import { MarketResource, MarketWithCounts } from '../../domain/market.ts';
import { SnapshotResource } from '../../domain/orderbook.ts';
import { PAGE_LIMIT_MAX } from '../../domain/page.ts';
import { CoinPriceResource, PriceResource } from '../../domain/price.ts';
import { QuoteResource } from '../../domain/quote.ts';
import { CoinResource } from '../../domain/recorded-coin.ts';
import { TierResource } from '../../domain/tier.ts';
import { fileKindOf, STREAMED_FORMATS } from '../../export/format.ts';
import { Problem } from '../response/problem.ts';
import { manualPath, ROUTES, type RouteName } from '../routes.ts';
import { CURSOR_SHAPE } from '../v1/cursor.ts';
import { INSTANTS_MAX } from '../v1/params.ts';
import { STREAMS_MAX, STREAMS_PER_KEY_MAX } from '../v1/stream-slots.ts';

/** What the document says of one route, in addition to the table of routes. */
export interface Operation {
  readonly summary: string;
  readonly description: string;
  readonly tag: 'markets' | 'books' | 'prices' | 'account' | 'service';
  /** What 200 holds, by media type; undefined: bytes that are no JSON model. */
  readonly content: Readonly<Record<string, TSchema | undefined>>;
  /** Headers of 200 in addition to those of every answer, by their names among the components. */
  readonly headers: readonly string[];
  /**
   * Requests that get a 200, by name: paths with queries. Their parameters are the examples of the parameters, and what is
   * answered those of the answer. Of JSON and text.
   */
  readonly examples: Readonly<Record<string, string>>;
}

const MARKET = '/v1/btc/markets/0x51301a7ed09337c50fa1c946ad8013953f71f5dd6e51b7bc5621f86409cb52c1';
const MARKET_WITH_GAP = '/v1/btc/markets/0x51301a7ed0da3a631a64d46e375a7e711a87a11d4328f1cb02a1b26570bf3f1c';
const WINDOW = 'from=1767868300000&to=2026-01-08T10:32:30Z';

const PAGED =
  'Repeat the request with cursor = nextCursor until that is null; from, to, outcome, order and interval stay the same.';
const TIES = 'Records ascend by (timestamp, id); order=desc turns them round. from and to are both inclusive.';
const TIMES = 'from and to are both inclusive and narrow the records, and the gaps that reach into that time.';
const DOCUMENT_HEADERS = ['Vary', 'Cache-Control', 'Content-Encoding'];
const TIMED_HEADERS = [...DOCUMENT_HEADERS, 'X-Bookreel-Warning'];
const MARKET_HEADERS = [...TIMED_HEADERS, 'ETag'];
const FILE_HEADERS = ['Cache-Control', 'Content-Security-Policy'];
const PAGE_HEADERS = [...FILE_HEADERS, 'Referrer-Policy', 'Cross-Origin-Opener-Policy'];

const dataOf = ($id: string, description: string, data: TSchema) => Type.Object({ data }, { $id, description });
const listOf = (resource: TSchema, maxItems: number) =>
  Type.Array(Type.Ref(resource.$id!), { maxItems, description: 'The records, in the order asked for.' });
const CURSOR = Type.String({ pattern: CURSOR_SHAPE.source });
const COUNT = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const orNull = (schema: TSchema, description: string) => Type.Union([schema, Type.Null()], { description });
const pageOf = ($id: string, resource: TSchema) =>
  Type.Object(
    {
      data: listOf(resource, PAGE_LIMIT_MAX),
      nextCursor: orNull(CURSOR, 'For the next page; null: this was the last one.'),
    },
    { $id, description: 'A page of a time series.' },
  );

const TierList = dataOf(
  'TierList',
  'The live tier catalog.',
  Type.Array(Type.Ref(TierResource.$id!), { description: 'The tiers.' }),
);
const CoinList = dataOf(
  'CoinList',
  'The coins of the archive that the key’s tier grants.',
  Type.Array(Type.Ref(CoinResource.$id!), { description: 'The coins, by symbol.' }),
);
const MarketOfEither = Type.Union([Type.Ref(MarketResource.$id!), Type.Ref(MarketWithCounts.$id!)], {
  description: 'With snapshotCount where include=counts asks for it.',
});
const MarketList = Type.Object(
  {
    data: Type.Array(MarketOfEither, { maxItems: PAGE_LIMIT_MAX, description: 'The markets.' }),
    pagination: Type.Object(
      {
        limit: Type.Integer({ minimum: 1, maximum: PAGE_LIMIT_MAX, description: 'As asked for.' }),
        skip: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'As asked for.' }),
        count: Type.Integer({ minimum: 0, maximum: PAGE_LIMIT_MAX, description: 'Markets in this answer.' }),
        hasMore: Type.Boolean({ description: 'Whether more follow.' }),
      },
      { description: 'Where this list stands among all.' },
    ),
  },
  { $id: 'MarketList', description: 'Markets of a coin, the latest window first.' },
);
const MarketAnswer = dataOf('MarketAnswer', 'One market.', MarketOfEither);
const SnapshotPage = pageOf('SnapshotPage', SnapshotResource);
const NearestSnapshots = dataOf('NearestSnapshots', 'The nearest of each outcome.', listOf(SnapshotResource, 2));
const NearestOfEach = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        ts: instantText('The instant that was asked about.'),
        distance: orNull(COUNT, 'Milliseconds to the first snapshot; null where there is none.'),
        data: listOf(SnapshotResource, 2),
      }),
      { maxItems: INSTANTS_MAX, description: 'One answer per instant, in the order of ts.' },
    ),
    next: orNull(instantText('The first instant that is not answered here.'), 'To go on with; null: all are answered.'),
  },
  { $id: 'NearestOfEach', description: 'The nearest of each outcome at many instants.' },
);
const CoverageAnswer = dataOf('CoverageAnswer', 'What is recorded of a market.', Type.Ref(CoverageResource.$id!));
const PricePage = pageOf('PricePage', PriceResource);
const QuotePage = pageOf('QuotePage', QuoteResource);
const CoinPricePage = pageOf('CoinPricePage', CoinPriceResource);
const Home = Type.Object(
  {
    name: Type.String({ description: 'bookreel.' }),
    version: Type.String({ description: 'Of the program.' }),
    description: Type.String({ description: 'What this is.' }),
    coins: orNull(
      Type.Array(CoinCode),
      'The coins that are recorded, by name; null in a replay, and where they cannot be read now.',
    ),
    authentication: Type.String({ description: 'How a key is sent.' }),
    links: Type.Record(Type.String(), Type.String(), { description: 'Paths by what is there.' }),
  },
  { $id: 'Home', description: 'What this service is.' },
);
const State = Type.Object(
  { status: Type.String({ description: 'In words.' }) },
  { $id: 'State', description: 'The state of the service.' },
);
const ApiDocument = Type.Unknown({ description: 'An OpenAPI document.' });
const Text = Type.String();

/** Every schema that has a name in the document. */
export const SCHEMAS: readonly TSchema[] = [
  ...[
    MarketResource,
    MarketWithCounts,
    SnapshotResource,
    CoverageResource,
    QuoteResource,
    PriceResource,
    CoinPriceResource,
  ],
  ...[
    TierResource,
    TierList,
    CoinResource,
    CoinList,
    MarketList,
    MarketAnswer,
    SnapshotPage,
    NearestSnapshots,
    NearestOfEach,
  ],
  ...[CoverageAnswer, PricePage],
  ...[QuotePage, CoinPricePage, Home, State, Problem],
];

/** The document of a route under /v1: what JSON says, msgpack says as well. */
const packable = (answer: TSchema) => ({ 'application/json': answer, 'application/msgpack': answer });

const pages = (path: string, selection: string, cursor: string): Operation['examples'] => ({
  firstPage: `${path}?${selection}`,
  nextPage: `${path}?${selection}&cursor=${cursor}`,
});

/** A file that is part of the executable. */
function file(summary: string, description: string, type: string): Operation {
  return { summary, description, tag: 'service', content: { [type]: Text }, headers: FILE_HEADERS, examples: {} };
}

export const OPERATIONS: Readonly<Record<RouteName, Operation>> = {
  tiers: {
    summary: 'Tier catalog',
    description:
      'The live catalog: what each tier grants and how many requests a minute it allows. Any valid key may read it.',
    tag: 'account',
    content: packable(TierList),
    headers: DOCUMENT_HEADERS,
    examples: { catalog: ROUTES.tiers.path },
  },
  coins: {
    summary: 'Coins with what is recorded of them',
    description:
      'The coins that the key’s tier grants, by symbol: markets, snapshots, and when the first and the last snapshot was recorded. A coin with reference prices only is listed too.',
    tag: 'markets',
    content: packable(CoinList),
    headers: TIMED_HEADERS,
    examples: { coins: ROUTES.coins.path, asOf: `${ROUTES.coins.path}?asOf=2026-01-08T10:31:40Z` },
  },
  markets: {
    summary: 'Markets of a coin',
    description:
      'The latest window first, ties by conditionId descending. recorded, closed, from and to leave markets out: from and to those whose window does not touch that time, both inclusive.',
    tag: 'markets',
    content: packable(MarketList),
    headers: TIMED_HEADERS,
    examples: {
      list: '/v1/btc/markets?tf=5m&limit=1&skip=1',
      asOf: '/v1/btc/markets?limit=1&asOf=2026-01-08T10:31:40Z',
      recorded: '/v1/btc/markets?limit=1&recorded=true&closed=true&include=counts',
    },
  },
  market: {
    summary: 'One market',
    description: 'By conditionId or slug, neither with regard to case.',
    tag: 'markets',
    content: packable(MarketAnswer),
    headers: MARKET_HEADERS,
    examples: { resolved: MARKET },
  },
  snapshots: {
    summary: 'Order book snapshots of a market',
    description: `${TIES} ${PAGED}`,
    tag: 'books',
    content: packable(SnapshotPage),
    headers: MARKET_HEADERS,
    examples: pages(`${MARKET}/snapshots`, `${WINDOW}&limit=2&order=asc&outcome=up`, 'AZudKX0nAAAAAAAA5suY9IjDRFEP'),
  },
  nearest: {
    summary: 'Snapshots nearest to an instant',
    description:
      'With outcome: the nearest record of that outcome. Without: the nearest of each outcome that has any, the nearer one first, then up before down. As near before as after: the earlier one. Several records with that timestamp: the one with the highest id. A market without snapshots: an empty list.',
    tag: 'books',
    content: packable(NearestSnapshots),
    headers: MARKET_HEADERS,
    examples: { nearest: `${MARKET}/snapshots/at/2026-01-08T10:31:40Z?outcome=up` },
  },
  nearestOfEach: {
    summary: 'Snapshots nearest to many instants',
    description:
      'One answer per instant, in the order of ts, each as the path with one instant gives it, with its distance. What would come to more than 6 MiB, or 40,000 levels, ends early: next is the first instant that is not answered.',
    tag: 'books',
    content: packable(NearestOfEach),
    headers: MARKET_HEADERS,
    examples: {
      before: `${MARKET}/snapshots/at?ts=2026-01-08T10:31:40Z,1767868310000&outcome=up&mode=before&maxDistance=60000&depth=2`,
    },
  },
  stream: {
    summary: 'Order book snapshots of a market as server-sent events',
    description: `In their order and at their pace, or as fast as the client reads. event: snapshot has a snapshot as data, as pages have it; event: gap, told when it is over, a stretch that a recording says it missed (from, to, reason); event: end, behind the last one, how many snapshots and gaps this answer had. The first event comes at once. A client that was cut off sends the id of the last event it has as Last-Event-ID, and gets every one behind it; so does one whose answer ended without end: the server was stopping, or the key no longer opens this path. Without an event for 15 seconds a comment comes. Never compressed. Without from it begins where the market’s window does. ${STREAMS_PER_KEY_MAX} at once with one key, beyond 429; ${STREAMS_MAX} in all, beyond 503.`,
    tag: 'books',
    content: { 'text/event-stream': Text },
    headers: ['Vary', 'Cache-Control', 'X-Bookreel-Warning', 'X-Accel-Buffering'],
    examples: {
      asFastAsRead: `${MARKET}/stream?from=2026-01-08T10:31:40.400Z&to=1767868300500&speed=max&outcome=up&depth=2`,
    },
  },
  coverage: {
    summary: 'What is recorded of a market',
    description:
      'Per outcome the first and last snapshot, how many there are, how many of them are one-sided, crossed, empty or a placeholder, and the longest silence; and the gaps that recordings speak of.',
    tag: 'books',
    content: packable(CoverageAnswer),
    headers: MARKET_HEADERS,
    examples: { withGap: `${MARKET_WITH_GAP}/coverage` },
  },
  marketPrices: {
    summary: 'Prices of a market’s outcomes',
    description: `Midpoints of two-sided books (one record per change) and trades. ${TIES} ${PAGED}`,
    tag: 'prices',
    content: packable(PricePage),
    headers: MARKET_HEADERS,
    examples: pages(`${MARKET}/prices`, `${WINDOW}&limit=2&order=asc&outcome=up`, 'AZudKX0nAAAAAAAA5ht5gw2f3MBN'),
  },
  quotes: {
    summary: 'Top of book of a market',
    description: `One record per change of the best bid or ask. ${TIES} ${PAGED}`,
    tag: 'books',
    content: packable(QuotePage),
    headers: MARKET_HEADERS,
    examples: pages(`${MARKET}/quotes`, `${WINDOW}&limit=2&order=desc&outcome=down`, 'AZudKj1iAAAAAAABQs4ZsZjuyzI6'),
  },
  export: {
    summary: 'A market as a recording',
    description: `The market, its gaps and every recorded record of it in one answer, streamed; ndjson, msgpack and segments can be imported again. segments is what is stored, as it is stored: the fewest bytes and the least to wait for ([its description](${manualPath('segments')}), [a reader to copy](${ROUTES.segmentReader.path})). A client that was cut off goes on with from = the timestamp of the last record it has: records of that millisecond come again, and an import drops them. ${TIMES} When a recording of the market is imported meanwhile the connection is cut: ask again.`,
    tag: 'books',
    content: Object.fromEntries(
      STREAMED_FORMATS.map((format) => [
        mediaTypeOf(format),
        format === 'ndjson' || format === 'csv' ? Text : undefined,
      ]),
    ),
    headers: [...MARKET_HEADERS, 'Content-Disposition'],
    examples: {
      ndjson: `${MARKET}/export?format=ndjson&from=2026-01-08T10:31:40.400Z&to=1767868300500`,
      csv: `${MARKET}/export?format=csv&from=2026-01-08T10:31:40.400Z&to=1767868300500`,
    },
  },
  coinPrices: {
    summary: 'Reference prices of a coin',
    description: `From every source that was recorded. ${TIES} ${PAGED}`,
    tag: 'prices',
    content: packable(CoinPricePage),
    headers: TIMED_HEADERS,
    examples: pages('/v1/btc/prices', `${WINDOW}&limit=2&order=asc`, 'AZudKX7IAAAAAAAebq3_VNteOY4z'),
  },
  home: {
    summary: 'What this is',
    description: 'Name, version, coins and links as JSON; a page with a quick start where Accept prefers HTML.',
    tag: 'service',
    content: { 'application/json': Home, 'text/html': Text },
    headers: ['Vary', ...PAGE_HEADERS],
    examples: { home: ROUTES.home.path },
  },
  openapi: {
    summary: 'This document',
    description: 'OpenAPI 3.1.',
    tag: 'service',
    content: { 'application/json': ApiDocument },
    headers: ['Content-Security-Policy'],
    examples: {},
  },
  llms: file(
    'This document as plain text',
    'For language models, in the form of llmstxt.org: all that a client needs to know.',
    'text/plain',
  ),
  docs: {
    summary: 'API reference',
    description: 'This document for a browser; needs no network.',
    tag: 'service',
    content: { 'text/html': Text },
    headers: PAGE_HEADERS,
    examples: {},
  },
  segmentReader: file(
    'A reader for the format of segments',
    'One file of TypeScript without imports, to be copied: it gives the snapshots of the API’s pages, in their order, and checks all it reads. For Node, Bun, Deno and browsers.',
    'text/plain',
  ),
  manual: {
    summary: 'The manual',
    description: `A page of the manual, for a browser; with .md after its name as Markdown. ${manualPath()} lists the pages.`,
    tag: 'service',
    content: { 'text/html': Text, 'text/markdown': Text },
    headers: PAGE_HEADERS,
    examples: {},
  },
  healthz: {
    summary: 'Liveness',
    description: 'The process lives.',
    tag: 'service',
    content: { 'application/json': State },
    headers: ['Cache-Control'],
    examples: { alive: ROUTES.healthz.path },
  },
  readyz: {
    summary: 'Readiness',
    description: 'The database answers and the server is not stopping; 503 otherwise.',
    tag: 'service',
    content: { 'application/json': State },
    headers: ['Cache-Control'],
    examples: { ready: ROUTES.readyz.path },
  },
};

/** Without its parameters: `text/csv` of `text/csv; charset=utf-8`. */
function mediaTypeOf(format: (typeof STREAMED_FORMATS)[number]): string {
  const [type = ''] = fileKindOf(format).mediaType.split(';');
  return type;
}
