import { Elysia } from 'elysia';
import { smallestUnits } from '../../domain/decimal.ts';
import { parseTradeSide } from '../../domain/trade.ts';
import type { GammaCatalog } from '../../replay/gamma/catalog.ts';
import { type RecordedTrade, recordedTrades } from '../../replay/recorded-trades.ts';
import { dataApiTrade } from '../../venue/trade-writer.ts';
import { listIn } from './gamma-query.ts';
import {
  answerAsVenue,
  answerInTurns,
  clobRefusal,
  type VenueContext,
  type VenueDeps,
  type VenueQuestion,
  type VenueRefusal,
} from './venue-answer.ts';
import { listedTrades } from './venue-trades.ts';

/** The Data API's own host has the path at its root; here it also has a prefix. */
const PREFIXES = ['', '/data-api'] as const;
/** The venue's (docs.polymarket.com). */
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 10_000;
const OFFSET_MAX = 10_000;
const WHOLE = /^\d{1,9}$/;
const SECONDS = /^\d{1,11}$/;
const AMOUNT = /^\d{1,15}(?:\.\d{1,12})?$/;
const CONDITION_ID = /^0x[0-9a-f]{1,64}$/i;
const NUMERIC_ID = /^\d{1,18}$/;
const WALLET = /^0x[0-9a-f]{40}$/i;
const FLAG = /^(?:true|false)$/i;

/** Lists of a wallet. No recording has wallets, so they are empty, and its positions are worth nothing. */
const OF_WALLET: Readonly<Record<string, (user: string) => object[]>> = {
  '/positions': () => [],
  '/closed-positions': () => [],
  '/activity': () => [],
  '/value': (user) => [{ user, value: 0 }],
};

/**
 * `/trades` of the venue's Data API (data-api.polymarket.com) at the replay's instant: the recorded trades of listed markets, the
 * newest first. Each is the taker's, so `takerOnly` has no effect; no trade has a known wallet, so none is that of a `user`. Also
 * the lists of a wallet. Unknown parameters are ignored.
 */
export function dataApiController({ replays, catalog, queueOf }: VenueDeps) {
  const app = new Elysia({ name: 'data-api' });
  for (const prefix of PREFIXES) {
    app.get(`${prefix}/trades`, (context: VenueContext) =>
      answerInTurns(replays, context, queueOf(context.request), (question) => trades(question, catalog)),
    );
    for (const [path, answer] of Object.entries(OF_WALLET)) {
      app.get(`${prefix}${path}`, (context: VenueContext) =>
        answerAsVenue(replays, context, ({ query }) => JSON.stringify(answer(walletIn(query)))),
      );
    }
  }
  return app;
}

function* trades(question: VenueQuestion, catalog: GammaCatalog): Generator<undefined, string> {
  const { replay, nowMs, query } = question;
  const limit = Math.min(numberIn(query, 'limit', WHOLE) ?? LIMIT_DEFAULT, LIMIT_MAX);
  const offset = numberIn(query, 'offset', WHOLE) ?? 0;
  // The venue's text; its maximum has changed several times.
  if (offset > OFFSET_MAX) throw clobRefusal(400, `max historical activity offset of ${OFFSET_MAX} exceeded`);
  const conditionIds = idsIn(query, 'market', CONDITION_ID);
  const eventIds = idsIn(query, 'eventId', NUMERIC_ID);
  if (conditionIds.length > 0 && eventIds.length > 0) throw invalid('market');
  const isWanted = filterIn(query);
  const seconds = (name: string) => {
    const found = numberIn(query, name, SECONDS);
    return found === undefined ? undefined : found * 1000 - replay.shiftMs;
  };
  const fromMs = Math.max(0, seconds('start') ?? 0);
  // To the end of that second.
  const toMs = Math.min(nowMs, (seconds('end') ?? Infinity) + 999);
  textIn(query, 'takerOnly', FLAG);
  if (textIn(query, 'user', WALLET) !== undefined) return '[]';
  const markets = catalog.select(replay, { conditionIds, eventIds }, nowMs);
  const found: RecordedTrade[] = [];
  let left = offset;
  for (const trade of limit === 0 ? [] : recordedTrades(replay, markets, fromMs, toMs)) {
    yield undefined;
    if (trade === undefined || !isWanted(trade)) continue;
    if (left > 0) left -= 1;
    else if (found.push(trade) === limit) break;
  }
  return JSON.stringify(listedTrades(question, found).map(dataApiTrade));
}

/** The trades of a side, and of at least an amount of shares (TOKENS) or of money (CASH). */
function filterIn(query: URLSearchParams): (trade: RecordedTrade) => boolean {
  const side = textIn(query, 'side', /^(?:BUY|SELL)$/);
  const type = textIn(query, 'filterType', /^(?:CASH|TOKENS)$/);
  const amount = numberIn(query, 'filterAmount', AMOUNT);
  if ((type === undefined) !== (amount === undefined))
    throw invalid(type === undefined ? 'filterType' : 'filterAmount');
  const wanted = side === undefined ? undefined : parseTradeSide(side);
  const one = smallestUnits(1);
  const least = smallestUnits(amount ?? 0) * one;
  return ({ price, trade }) => {
    if (wanted !== undefined && trade?.side !== wanted) return false;
    if (amount === undefined) return true;
    return smallestUnits(trade?.size ?? 0) * (type === 'CASH' ? smallestUnits(price) : one) >= least;
  };
}

/** The venue refuses a malformed wallet in the same words. */
function walletIn(query: URLSearchParams): string {
  const user = query.get('user') ?? '';
  if (WALLET.test(user)) return user;
  throw clobRefusal(400, "required query param 'user' not provided");
}

function idsIn(query: URLSearchParams, name: string, pattern: RegExp): string[] {
  const ids = listIn(query, name);
  if (!ids.every((id) => pattern.test(id))) throw invalid(name);
  return ids;
}

function numberIn(query: URLSearchParams, name: string, pattern: RegExp): number | undefined {
  const text = textIn(query, name, pattern);
  return text === undefined ? undefined : Number(text);
}

/** Undefined if it is missing or empty. */
function textIn(query: URLSearchParams, name: string, pattern: RegExp): string | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  if (!pattern.test(text)) throw invalid(name);
  return text;
}

function invalid(name: string): VenueRefusal {
  return clobRefusal(400, `invalid ${name}`);
}
