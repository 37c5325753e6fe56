import { Elysia } from 'elysia';
import { formatInstant, type InstantMs, parseIso } from '../../domain/instant.ts';
import { TIMEFRAMES, type Timeframe } from '../../domain/timeframe.ts';
import type { CatalogQuery } from '../../replay/gamma/catalog.ts';
import { listedObject } from '../../replay/listed-market.ts';
import { windowPrices } from '../../replay/window-prices.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { seriesOf } from '../../venue/gamma-series.ts';
import { gammaEventWithMarkets } from '../../venue/gamma-writer.ts';
import { WINDOW_MS } from '../../venue/slug.ts';
import { venueTime } from '../../venue/time.ts';
import { publicPageHeaders } from '../pages/page-headers.ts';
import { NO_STORE } from '../response/response.ts';
import { clobRefusal, type VenueDeps, type VenueQuestion, venueAnswers } from './venue-answer.ts';

/** The names of timeframes in the site's addresses; it writes the first one itself. */
const VARIANTS: Readonly<Record<Timeframe, readonly string[]>> = {
  '5m': ['fiveminute', 'five'],
  '15m': ['fifteen', 'fifteenminute'],
  '1h': ['hourly', 'onehour'],
  '4h': ['fourhour'],
  '24h': ['daily'],
};
/** A coin's windows of one length. */
interface Series {
  readonly coin: string;
  readonly timeframe: Timeframe;
}

const PAST_DEFAULT = 4;
const PAST_MAX = 50;

/**
 * The pages of the venue's site (polymarket.com) that programs read; it documents none of them: the price at the start of a window
 * (`/api/crypto/crypto-price`), those of earlier windows (`/api/past-results`), and both in the page of an event, whose data is the JSON
 * of its script `__NEXT_DATA__`. A price that no recording states is null, see `windowPrices`.
 */
export function siteController(deps: VenueDeps) {
  const { now } = venueAnswers(deps);
  return new Elysia({ name: 'site' })
    .get('/api/crypto/crypto-price', now(cryptoPrice))
    .get('/api/past-results', now(pastResults))
    .get('/event/:slug', now(eventPage, { ...publicPageHeaders(), ...NO_STORE }));
}

/** The prices of the window of `symbol` that begins at `eventStartTime` and ends at `endDate`, or is as long as `variant` says. */
function cryptoPrice(question: VenueQuestion): object {
  const { replay, nowMs } = question;
  const startMs = recordedInstantIn(question, 'eventStartTime');
  const timeframe = timeframeIn(question, startMs);
  const series = { coin: coinIn(question), timeframe };
  const [market] = marketsOf(question, series, { minMs: startMs, maxMs: startMs });
  const prices = market && windowPrices(replay, market, nowMs);
  const { openPrice = null, closePrice = null } = prices ?? {};
  const completed = prices?.isResolved === true && closePrice !== null;
  const timestamp = nowMs + replay.shiftMs;
  return { openPrice, closePrice, timestamp, completed, incomplete: openPrice === null, cached: false };
}

/** The last `count` resolved windows that ended by `currentEventStartTime`, the oldest first. */
function pastResults(question: VenueQuestion): object {
  const startMs = recordedInstantIn(question, 'currentEventStartTime');
  const count = Number(question.query.get('count') ?? PAST_DEFAULT);
  if (!Number.isInteger(count) || count < 1) throw clobRefusal(400, 'invalid count');
  const series = { coin: coinIn(question), timeframe: timeframeIn(question, startMs) };
  const results = resultsBefore(question, series, startMs, Math.min(count, PAST_MAX));
  return { status: 'success', data: { results } };
}

function eventPage(question: VenueQuestion): string {
  const { replay, nowMs, params, catalog } = question;
  const slug = params.slug ?? '';
  const entry = catalog.latest(replay, { slugs: [slug] }, nowMs);
  const market = entry && replay.marketByKey(entry.key);
  if (market === undefined) throw clobRefusal(404, 'event not found');
  const { symbol, timeframe, startMs, endMs } = market;
  const timeOf = (instantMs: InstantMs) => venueTime(instantMs + replay.shiftMs);
  const event = listedObject(replay, market, nowMs, gammaEventWithMarkets);
  const { openPrice = null, closePrice = null } = windowPrices(replay, market, nowMs);
  const [variant] = VARIANTS[timeframe];
  const coin = symbol.toUpperCase();
  const priceKey = ['crypto-prices', 'price', coin, timeOf(startMs), variant, timeOf(endMs)];
  const results = resultsBefore(question, { coin: symbol, timeframe }, startMs, PAST_DEFAULT);
  const queries = [
    { state: { data: event }, queryKey: ['/api/event/slug', slug] },
    { state: { data: { openPrice, closePrice } }, queryKey: priceKey },
    { state: { data: { results } }, queryKey: ['past-results', coin, variant, timeOf(startMs)] },
  ];
  const data = { props: { pageProps: { dehydratedState: { queries } } }, page: '/event/[slug]', query: { slug } };
  // In a script only `<` could end it.
  const json = JSON.stringify(data).replaceAll('<', '\\u003c');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Replayed event</title></head><body><p>A replay’s copy of the data that programs read of this page.</p><script id="__NEXT_DATA__" type="application/json">${json}</script></body></html>`;
}

/** Both prices of the last `count` resolved windows that ended by `untilMs`, the oldest first. Windows without one are left out. */
function resultsBefore(question: VenueQuestion, series: Series, untilMs: InstantMs, count: number): object[] {
  const { replay, nowMs } = question;
  const minMs = untilMs - count * WINDOW_MS[series.timeframe];
  const markets = marketsOf(question, series, { minMs, maxMs: untilMs - 1 });
  return markets.flatMap((market) => {
    const { openPrice, closePrice, isResolved } = windowPrices(replay, market, nowMs);
    if (!isResolved || openPrice === undefined || closePrice === undefined) return [];
    const [startTime, endTime] = [market.startMs, market.endMs].map((ms) => formatInstant(ms + replay.shiftMs));
    return { startTime, endTime, openPrice, closePrice, outcome: market.winner };
  });
}

/** The listed markets of a series whose windows start then, by start. */
function marketsOf(
  { replay, nowMs, catalog }: VenueQuestion,
  { coin, timeframe }: Series,
  startTime: NonNullable<CatalogQuery['startTime']>,
): StoredMarket[] {
  const seriesSlugs = [seriesOf(coin, timeframe).slug];
  const found = catalog.select(replay, { seriesSlugs, startTime, order: ['startTime'] }, nowMs);
  return found.flatMap(({ key }) => replay.marketByKey(key) ?? []);
}

function coinIn({ query }: VenueQuestion): string {
  const symbol = query.get('symbol') ?? '';
  if (symbol === '') throw clobRefusal(400, 'invalid symbol');
  return symbol.toLowerCase();
}

/** The timeframe that `variant` names; without it, the one whose windows are as long as from the start to `endDate`. */
function timeframeIn({ query, replay }: VenueQuestion, startMs: InstantMs): Timeframe {
  const variant = query.get('variant')?.toLowerCase();
  const endMs = parseIso(query.get('endDate') ?? '');
  const lengthMs = endMs === undefined ? undefined : endMs - replay.shiftMs - startMs;
  const found = TIMEFRAMES.find((timeframe) =>
    variant === undefined ? WINDOW_MS[timeframe] === lengthMs : VARIANTS[timeframe].includes(variant),
  );
  if (found === undefined) throw clobRefusal(400, 'invalid variant');
  return found;
}

function recordedInstantIn({ query, replay }: VenueQuestion, name: string): InstantMs {
  const instantMs = parseIso(query.get(name) ?? '');
  if (instantMs === undefined) throw clobRefusal(400, `invalid ${name}`);
  return instantMs - replay.shiftMs;
}
