import type { InstantMs } from '../../domain/instant.ts';
import { BINANCE, CHAINLINK, chainlinkTwap } from '../../domain/publisher.ts';
import { type PriceRecord, pricesIn } from '../../segment/price-segment.ts';
import { type RtdsSubscription, rtdsRequest } from '../../venue/rtds-request-parser.ts';
import { type RtdsTopic, rtdsHistory, rtdsRefusal, rtdsUpdate } from '../../venue/rtds-writer.ts';
import type { SessionDeps } from '../clocked-sender.ts';
import { type CoinPriceStream, CoinPriceStreams, type CoinSource, priceMessages } from '../coin-price-streams.ts';
import type { Connection } from '../connection.ts';
import type { Replay } from '../replay.ts';

/** A topic, and the source of its prices in recordings. */
interface RecordedTopic extends RtdsTopic {
  readonly source: string;
}

const TOPICS: readonly RecordedTopic[] = [
  { name: 'crypto_prices', quote: 'usdt', source: BINANCE },
  { name: 'crypto_prices_chainlink', quote: '/usd', source: CHAINLINK },
  { name: 'crypto_prices_twap_thirty', quote: '/usd', source: chainlinkTwap(30), windowSeconds: 30 },
  { name: 'crypto_prices_twap_sixty', quote: '/usd', source: chainlinkTwap(60), windowSeconds: 60 },
];
const TYPES: ReadonlySet<string> = new Set(['*', 'update']);
/** The venue's histories have the prices of the last minute; if there are more than this number, the latest ones. */
const HISTORY_MS = 60_000;
const HISTORY_PRICES_MAX = 10_000;
/** The venue's error message (rs-clob-client-v2#108). */
const INVALID_REQUEST = 'Invalid request body';
const UNRECORDED = `recordings do not have this topic or type: subscribe to type update of one of ${TOPICS.map(({ name }) => name).join(', ')}`;

/**
 * One client of RTDS on a replay: the coin prices of the replay's coins at its clock. For each symbol of a filter it first gets
 * the prices of the last minute, as from the venue, and again when the clock jumps. A topic that recordings do not have is
 * refused; a symbol without a recorded price gets no messages, like an unknown symbol at the venue.
 */
export class RtdsSession {
  readonly #replay: Replay;
  readonly #connection: Connection;
  readonly #streams: CoinPriceStreams;

  constructor(deps: SessionDeps) {
    this.#replay = deps.replay;
    this.#connection = deps.connection;
    this.#streams = new CoinPriceStreams(deps);
  }

  /** Takes a frame from the client. */
  received(text: string): void {
    if (this.#streams.sender.isClosed) return;
    const request = rtdsRequest(text);
    if (request === undefined) this.#refuse(INVALID_REQUEST);
    else if (request.kind !== 'ping') this.#change(request.kind, request.subscriptions);
    else if (request.wantsAnswer) this.#connection.send('PONG');
  }

  drained(): void {
    this.#streams.sender.drained();
  }

  closed(): void {
    this.#streams.sender.closed();
  }

  /** Changes all subscriptions at once: one by one, at speed max, each would be sent to its end before the next one begins. */
  #change(kind: 'subscribe' | 'unsubscribe', subscriptions: readonly RtdsSubscription[]): void {
    const streams = new Map<string, CoinPriceStream>();
    let isRefused = false;
    for (const { topic: name, type, symbols } of subscriptions) {
      const topic = TOPICS.find((known) => known.name === name);
      if (topic === undefined || !TYPES.has(type)) isRefused = true;
      // The first of two entries about a symbol counts.
      else for (const [key, stream] of this.#streamsOf(topic, symbols)) streams.getOrInsert(key, stream);
    }
    if (isRefused) this.#refuse(UNRECORDED);
    if (kind === 'subscribe') this.#streams.add(streams);
    else this.#streams.remove(streams.keys());
  }

  /** The streams of those symbols that are coins of the replay, by topic and symbol. */
  #streamsOf(topic: RecordedTopic, symbols: readonly string[] | undefined): Map<string, CoinPriceStream> {
    const streams = new Map<string, CoinPriceStream>();
    for (const coin of this.#replay.coins) {
      const symbol = `${coin}${topic.quote}`;
      if (symbols !== undefined && !symbols.includes(symbol)) continue;
      // No averages are simulated.
      const source = topic.windowSeconds === undefined ? this.#replay.priceSource(coin, topic.source) : topic.source;
      const connection = source === topic.source ? 'replay' : 'simulated';
      streams.set(`${topic.name} ${symbol}`, {
        messagesAfter: (atMs) =>
          priceMessages(this.#replay, { coin, source }, atMs, (price, shiftMs) =>
            rtdsUpdate(topic, symbol, shifted(price, shiftMs), connection),
          ),
        ...(symbols !== undefined && { openingAt: (atMs) => this.#history({ coin, source }, symbol, atMs) }),
      });
    }
    return streams;
  }

  #history({ coin, source }: CoinSource, symbol: string, atMs: InstantMs): string | undefined {
    const { archive, shiftMs } = this.#replay;
    const slices = archive.prices.slicesOfSource(coin, source, atMs - HISTORY_MS + 1, atMs);
    const prices = [...pricesIn(slices)].slice(-HISTORY_PRICES_MAX).map((price) => shifted(price, shiftMs));
    return prices.length === 0 ? undefined : rtdsHistory(symbol, prices, atMs + shiftMs);
  }

  #refuse(message: string): void {
    this.#connection.send(rtdsRefusal(message));
  }
}

function shifted({ timestampMs, price }: PriceRecord, shiftMs: number) {
  return { timestampMs: timestampMs + shiftMs, price };
}
