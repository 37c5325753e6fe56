import { Elysia } from 'elysia';
import { smallestUnits, sumOfDecimals } from '../../domain/decimal.ts';
import { parseTradeSide } from '../../domain/trade.ts';
import { type RecordedTrade, recordedTrades } from '../../replay/recorded-trades.ts';
import type { VenueAccount } from '../../trading/venue-account.ts';
import { dataApiTrade } from '../../venue/trade-writer.ts';
import { listIn } from './gamma-query.ts';
import { clobRefusal, type VenueDeps, type VenueQuestion, type VenueRefusal, venueAnswers } from './venue-answer.ts';
import { listedTrades } from './venue-trades.ts';
import { activityOf, positionsOf } from './wallet-lists.ts';

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

/** `account` is that of the wallet on a replay that takes orders; undefined for any other, since no recording has wallets. */
type AnswerOfWallet = (question: VenueQuestion, user: string, account: VenueAccount | undefined) => object[];

type AccountOf = (question: VenueQuestion, user: string) => VenueAccount | undefined;

/** Lists of a wallet. */
const OF_WALLET: Readonly<Record<string, AnswerOfWallet>> = {
  '/positions': positions,
  '/closed-positions': () => [],
  '/activity': activity,
  '/value': (question, user, account) => {
    const held = account === undefined ? [] : positionsOf(question, account, user);
    return [{ user, value: sumOfDecimals(held.map(({ value }) => value)) }];
  },
};
/** `/positions` leaves out smaller ones by default. */
const POSITION_MIN = 1;

/**
 * `/trades` of the venue's Data API (data-api.polymarket.com) at the replay's instant: the recorded trades of listed markets, the
 * newest first. Each is the taker's, so `takerOnly` has no effect. No recorded trade has a known wallet: those of a `user` are the fills of
 * its account. Also the lists of a wallet. Unknown parameters are ignored.
 */
export function dataApiController(deps: VenueDeps) {
  const app = new Elysia({ name: 'data-api' });
  const { now, inTurns } = venueAnswers(deps);
  const accountOf: AccountOf = ({ replay }, user) => deps.deskOf(replay)?.find(user);
  for (const prefix of PREFIXES) {
    app.get(
      `${prefix}/trades`,
      inTurns((question) => trades(question, accountOf)),
    );
    for (const [path, answer] of Object.entries(OF_WALLET)) {
      const ofWallet = (question: VenueQuestion) => {
        const user = walletIn(question.query);
        return answer(question, user, accountOf(question, user));
      };
      app.get(`${prefix}${path}`, now(ofWallet));
    }
  }
  return app;
}

function* trades(question: VenueQuestion, accountOf: AccountOf): Generator<undefined, object[]> {
  const { replay, nowMs, query, catalog } = question;
  const { limit, offset } = partIn(query);
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
  const user = textIn(query, 'user', WALLET);
  if (user !== undefined) return activity(question, user, accountOf(question, user), 'TRADE');
  const markets = catalog.select(replay, { conditionIds, eventIds }, nowMs);
  const found: RecordedTrade[] = [];
  let left = offset;
  for (const trade of limit === 0 ? [] : recordedTrades(replay, markets, fromMs, toMs, nowMs)) {
    yield undefined;
    if (trade === undefined || !isWanted(trade)) continue;
    if (left > 0) left -= 1;
    else if (found.push(trade) === limit) break;
  }
  return listedTrades(question, found).map(dataApiTrade);
}

/** `type`: only this one. */
function activity(question: VenueQuestion, user: string, account: VenueAccount | undefined, type?: string): object[] {
  const { query } = question;
  const types = type === undefined ? listIn(query, 'type') : [type];
  const conditionIds = idsIn(query, 'market', CONDITION_ID).map((id) => id.toLowerCase());
  const side = parseTradeSide(textIn(query, 'side', /^(?:BUY|SELL)$/) ?? '');
  const [fromS, toS] = [numberIn(query, 'start', SECONDS) ?? 0, numberIn(query, 'end', SECONDS) ?? Infinity];
  const found = (account === undefined ? [] : activityOf(question, account, user)).filter((each) => {
    const seconds = Math.floor(each.timestampMs / 1000);
    return (
      seconds >= fromS &&
      seconds <= toS &&
      (side === undefined || each.side === side) &&
      (types.length === 0 || types.includes(each.type)) &&
      (conditionIds.length === 0 || conditionIds.includes(each.conditionId.toLowerCase()))
    );
  });
  if (query.get('sortDirection') === 'ASC') found.reverse();
  return shownIn(query, found);
}

function positions(question: VenueQuestion, user: string, account: VenueAccount | undefined): object[] {
  const { query } = question;
  const conditionIds = idsIn(query, 'market', CONDITION_ID).map((id) => id.toLowerCase());
  const least = numberIn(query, 'sizeThreshold', AMOUNT) ?? POSITION_MIN;
  const found = (account === undefined ? [] : positionsOf(question, account, user)).filter(
    ({ size, conditionId }) =>
      size >= least && (conditionIds.length === 0 || conditionIds.includes(conditionId.toLowerCase())),
  );
  return shownIn(query, found);
}

/** The part of a list that `limit` and `offset` select. */
function shownIn(query: URLSearchParams, list: readonly { readonly shown: () => object }[]): object[] {
  const { limit, offset } = partIn(query);
  return list.slice(offset, offset + limit).map(({ shown }) => shown());
}

function partIn(query: URLSearchParams): { readonly limit: number; readonly offset: number } {
  const limit = Math.min(numberIn(query, 'limit', WHOLE) ?? LIMIT_DEFAULT, LIMIT_MAX);
  const offset = numberIn(query, 'offset', WHOLE) ?? 0;
  // The venue's text; its maximum has changed several times.
  if (offset > OFFSET_MAX) throw clobRefusal(400, `max historical activity offset of ${OFFSET_MAX} exceeded`);
  return { limit, offset };
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
