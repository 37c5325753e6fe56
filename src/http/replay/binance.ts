import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { BinanceSession, unknownStream } from '../../replay/binance/binance-session.ts';
import { coinOf, symbolOf, tickerPrice } from '../../replay/binance/coin-trades.ts';
import type { Replay } from '../../replay/replay.ts';
import { replayIn } from '../plugins/access.ts';
import { searchOf } from '../request-target.ts';
import { type ReplaySocketDeps, replaySocketHooks } from './replay-socket.ts';
import { refusePlainGet, type SocketContext } from './socket.ts';
import { answerAsVenue, type VenueContext, type VenueQuestion, VenueRefusal } from './venue-answer.ts';

/** The streams of one raw socket are in its path, those of a combined one in its query; further ones come in its frames. */
const RAW_PATHS = ['/ws', '/ws/:stream'] as const;
const COMBINED_PATH = '/stream';
/** Binance's maximum for one connection (binance-spot-api-docs, web-socket-streams.md), repetitions included. */
const STREAMS_MAX = 1024;
const SYMBOL = '[A-Z0-9-_.]{1,20}';

/**
 * Binance's market streams and REST interface (binance-spot-api-docs) on the recorded prices of coins: trades over sockets, and
 * the latest price. Whatever was not recorded is refused, in Binance's words where it has some.
 */
export function binanceController(deps: ReplaySocketDeps) {
  const { replays } = deps;
  const hooksOf = (isCombined: boolean) => {
    const hooks = replaySocketHooks(
      deps,
      (session, context) => new BinanceSession(session, isCombined, streamsIn(context)),
    );
    return {
      ...hooks,
      beforeHandle: (context: SocketContext) =>
        refuseUnknown(replays.find(replayIn(context.params)), streamsIn(context)),
    };
  };
  const app = new Elysia({ name: 'binance' });
  for (const path of RAW_PATHS) app.ws(path, hooksOf(false)).get(path, refusePlainGet);
  app.ws(COMBINED_PATH, hooksOf(true)).get(COMBINED_PATH, refusePlainGet);
  const get = (path: string, answer: (question: VenueQuestion) => object) =>
    app.get(path, (context: VenueContext) =>
      answerAsVenue(replays, context, (question) => JSON.stringify(answer(question))),
    );
  get('/api/v3/ping', () => ({}));
  get('/api/v3/time', ({ replay, nowMs }) => ({ serverTime: nowMs + replay.shiftMs }));
  get('/api/v3/ticker/price', prices);
  return app;
}

function streamsIn({ request, params }: SocketContext): string[] {
  const named = params?.stream ?? new URLSearchParams(searchOf(request)).get('streams') ?? '';
  return named.split('/').filter((name) => name !== '');
}

/** Throws 'malformed-request' if no recording has one of the streams. */
function refuseUnknown(replay: Replay, names: readonly string[]): void {
  const isTooMany = names.length > STREAMS_MAX;
  if (!isTooMany && unknownStream(replay, names) === undefined) return;
  const streams = replay.coins.map((coin) => `${symbolOf(coin).toLowerCase()}@trade`).join(', ');
  throw new DomainError(
    'malformed-request',
    isTooMany ? `a socket has at most ${STREAMS_MAX} streams` : `recordings do not have this stream: use ${streams}`,
  );
}

/** One price for `symbol`, several for `symbols`, without either those of all coins that have one. */
function prices({ replay, query }: VenueQuestion): object {
  const others = [...query.keys()].filter((name) => name !== 'symbol' && name !== 'symbols');
  for (const name of ['symbol', 'symbols']) {
    if (query.getAll(name).length > 1) throw refusal(-1101, `Duplicate values for parameter '${name}'.`);
    if (query.get(name) === '') throw refusal(-1105, `Parameter '${name}' was empty.`);
  }
  if (others.length > 0) {
    const { size } = query;
    throw refusal(
      -1104,
      `Not all sent parameters were read; read '${size - others.length}' parameter(s) but was sent '${size}'.`,
    );
  }
  const symbol = query.get('symbol');
  const symbols = query.get('symbols');
  if (symbol !== null && symbols !== null) throw refusal(-1128, 'Combination of optional parameters invalid.');
  if (symbol !== null) return priceOf(replay, checkedSymbol(symbol));
  if (symbols !== null) return symbolsIn(symbols).map((each) => priceOf(replay, each));
  return replay.coins.flatMap((coin) => tickerPrice(replay, coin) ?? []);
}

/** A coin of the replay has no price before its first recorded one. */
function priceOf(replay: Replay, symbol: string): object {
  const coin = coinOf(replay, symbol);
  const price = coin === undefined ? undefined : tickerPrice(replay, coin);
  if (price === undefined) throw refusal(-1121, 'Invalid symbol.');
  return price;
}

function checkedSymbol(symbol: string): string {
  const range = `^${SYMBOL}$`;
  if (new RegExp(range).test(symbol)) return symbol;
  throw refusal(-1100, `Illegal characters found in parameter 'symbol'; legal range is '${range}'.`);
}

/** A JSON array of symbols. */
function symbolsIn(text: string): string[] {
  const range = `^\\[("${SYMBOL}"(,"${SYMBOL}"){0,}){0,1}\\]$`;
  if (new RegExp(range).test(text)) return text.match(new RegExp(SYMBOL, 'g')) ?? [];
  throw refusal(-1100, `Illegal characters found in parameter 'symbols'; legal range is '${range}'.`);
}

function refusal(code: number, msg: string): VenueRefusal {
  return new VenueRefusal(400, { code, msg });
}
