import type { SessionDeps } from '../clocked-sender.ts';
import { type CoinPriceStream, CoinPriceStreams } from '../coin-price-streams.ts';
import type { Connection } from '../connection.ts';
import type { Replay } from '../replay.ts';
import { BinanceError, type BinanceRequest, binanceRequest } from './binance-request.ts';
import { streamMessages, unknownStream } from './streams.ts';

/**
 * One client of Binance's market streams on a replay: the recorded prices of the replay's coins at its clock. A raw connection
 * gets messages alone, a combined one each with the name of its stream.
 */
export class BinanceSession {
  readonly #replay: Replay;
  readonly #connection: Connection;
  readonly #streams: CoinPriceStreams;
  #isCombined: boolean;

  /** Begins with the streams of these names, of which `unknownStream` finds none. */
  constructor(deps: SessionDeps, isCombined: boolean, names: readonly string[]) {
    this.#replay = deps.replay;
    this.#connection = deps.connection;
    this.#streams = new CoinPriceStreams(deps);
    this.#isCombined = isCombined;
    this.#subscribe(names);
  }

  /** Takes a frame from the client. */
  received(text: string): void {
    if (this.#streams.sender.isClosed) return;
    this.#connection.send(JSON.stringify(this.#answer(text)));
  }

  drained(): void {
    this.#streams.sender.drained();
  }

  closed(): void {
    this.#streams.sender.closed();
  }

  #answer(text: string): object {
    try {
      const request = binanceRequest(text);
      return { result: this.#resultOf(request), id: request.id };
    } catch (error) {
      if (!(error instanceof BinanceError)) throw error;
      return { error: { code: error.code, msg: error.message }, id: error.id };
    }
  }

  /** Throws a BinanceError. */
  #resultOf(request: BinanceRequest): unknown {
    switch (request.method) {
      case 'SUBSCRIBE': {
        if (unknownStream(this.#replay, request.streams) !== undefined) {
          throw new BinanceError(2, 'Invalid request: invalid stream', request.id);
        }
        this.#subscribe(request.streams);
        return null;
      }
      case 'UNSUBSCRIBE':
        this.#streams.remove(request.streams);
        return null;
      case 'LIST_SUBSCRIPTIONS':
        return this.#streams.names;
      case 'GET_PROPERTY':
        return this.#isCombined;
      case 'SET_PROPERTY':
        this.#isCombined = request.isCombined;
        return null;
    }
  }

  #subscribe(names: readonly string[]): void {
    const streams = names.flatMap((name) => {
      const messagesAfter = streamMessages(this.#replay, name);
      return messagesAfter === undefined ? [] : [[name, { messagesAfter, framed: this.#framing(name) }] as const];
    });
    this.#streams.add(new Map(streams));
  }

  #framing(name: string): NonNullable<CoinPriceStream['framed']> {
    return (text) => (this.#isCombined ? `{"stream":"${name}","data":${text}}` : text);
  }
}
