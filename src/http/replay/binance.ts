import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { BinanceSession } from '../../replay/binance/binance-session.ts';
import { Candles } from '../../replay/binance/candles.ts';
import { symbolOf } from '../../replay/binance/coin-trades.ts';
import { unknownStream } from '../../replay/binance/streams.ts';
import type { Replay } from '../../replay/replay.ts';
import type { Archive } from '../../store/archive.ts';
import { replayIn } from '../plugins/access.ts';
import { hostNameOf } from '../plugins/request-checks.ts';
import { searchOf } from '../request-target.ts';
import { dayTickers, klines, prices, trades } from './binance-rest.ts';
import { type ReplaySocketDeps, replaySocketHooks } from './replay-socket.ts';
import { missingSocket, refusePlainGet, type SocketContext } from './socket.ts';
import { type VenueDeps, venueAnswers } from './venue-answer.ts';

/** The streams of one raw socket are in its path, those of a combined one in its query; further ones come in its frames. */
const RAW_PATHS = ['/ws', '/ws/:stream'] as const;
const COMBINED_PATH = '/stream';
/** Binance's maximum for one connection (binance-spot-api-docs, web-socket-streams.md), repetitions included. */
const STREAMS_MAX = 1024;
/** The venue's hosts. A bot that tries one of these paths there must learn that the venue has no such socket. */
const VENUE_HOST = /(^|\.)polymarket\.com$/;
/** The spot market and futures in USDT. Recordings have one price of Binance, which both show. */
const REST_MARKETS = [
  { prefix: '/api/v3', klinesMax: 1000, isTimed: false },
  { prefix: '/fapi/v1', klinesMax: 1500, isTimed: true },
];

/**
 * Binance's market streams and REST interface (binance-spot-api-docs) on the recorded prices of coins: trades and candles.
 * Whatever was not recorded is refused, in Binance's words where it has some.
 */
export function binanceController(deps: ReplaySocketDeps & VenueDeps, archive: Archive) {
  const { replays } = deps;
  const { now, inTurns } = venueAnswers(deps);
  const candles = new Candles(archive);
  const hooksOf = (isCombined: boolean) => {
    const hooks = replaySocketHooks(
      deps,
      (session, context) => new BinanceSession(session, isCombined, streamsIn(context)),
    );
    return {
      ...hooks,
      beforeHandle: (context: SocketContext) => {
        if (VENUE_HOST.test(hostNameOf(context.request.headers))) throw missingSocket();
        refuseUnknown(replays.find(replayIn(context.params)), streamsIn(context));
      },
    };
  };
  const app = new Elysia({ name: 'binance' });
  for (const path of RAW_PATHS) app.ws(path, hooksOf(false)).get(path, refusePlainGet);
  app.ws(COMBINED_PATH, hooksOf(true)).get(COMBINED_PATH, refusePlainGet);
  for (const { prefix, klinesMax, isTimed } of REST_MARKETS) {
    const answers = {
      ping: now(() => ({})),
      time: now(({ replay, nowMs }) => ({ serverTime: nowMs + replay.shiftMs })),
      aggTrades: now(trades),
      'ticker/price': inTurns((question) => prices(question, isTimed)),
      klines: inTurns((question) => klines(question, candles, klinesMax)),
      'ticker/24hr': inTurns((question) => dayTickers(question, candles)),
    };
    for (const [path, answer] of Object.entries(answers)) app.get(`${prefix}/${path}`, answer);
  }
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
  const symbols = replay.coins.map((coin) => symbolOf(coin).toLowerCase()).join(', ');
  throw new DomainError(
    'malformed-request',
    isTooMany
      ? `a socket has at most ${STREAMS_MAX} streams`
      : `recordings do not have this stream: use @trade, @aggTrade or @kline_1m after one of ${symbols}`,
  );
}
