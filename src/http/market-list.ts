import { ByteBuffer } from '../book/byte-buffer.ts';
import { appendArrayLength, msgpackText } from '../book/msgpack.ts';
import type { MarketState, Markets } from '../store/markets.ts';
import { MarketFragments } from './market-fragments.ts';
import type { Format } from './respond.ts';

/** Markets held as bytes, in one format: about 10,000. */
const FRAGMENT_BYTES_MAX = 8 * 1024 * 1024;

export interface Pagination {
  readonly limit: number;
  readonly skip: number;
  readonly count: number;
  readonly hasMore: boolean;
}

type Encode = (value: unknown) => Uint8Array;

const encoder = new TextEncoder();
const JSON_OPENS = encoder.encode('{"data":[');
const JSON_PAGINATION = encoder.encode('],"pagination":');
const COMMA = 44;
const BRACE_CLOSES = 125;
/** A map of two. */
const MSGPACK_OPENS = Uint8Array.of(0x82, ...msgpackText('data'));
const MSGPACK_PAGINATION = msgpackText('pagination');

/** Writes lists of markets in one format, `{data, pagination}`, one after another. */
export class MarketList {
  readonly #format: Format;
  readonly #encode: Encode;
  readonly #fragments: MarketFragments;
  readonly #out = new ByteBuffer();

  constructor(markets: Markets, format: Format, encode: Encode) {
    this.#format = format;
    this.#encode = encode;
    this.#fragments = new MarketFragments(markets, encode, FRAGMENT_BYTES_MAX);
  }

  /** A whole answer; valid until the next one is written. */
  write(markets: readonly MarketState[], pagination: Pagination): Uint8Array<ArrayBuffer> {
    const out = this.#out;
    out.clear();
    if (this.#format === 'msgpack') this.#writeMsgpack(markets, pagination);
    else this.#writeJson(markets, pagination);
    return out.view();
  }

  #writeJson(markets: readonly MarketState[], pagination: Pagination): void {
    const out = this.#out;
    out.append(JSON_OPENS);
    for (const [i, market] of markets.entries()) {
      if (i > 0) out.byte(COMMA);
      this.#fragments.append(out, market);
    }
    out.append(JSON_PAGINATION);
    out.append(this.#encode(pagination));
    out.byte(BRACE_CLOSES);
  }

  #writeMsgpack(markets: readonly MarketState[], pagination: Pagination): void {
    const out = this.#out;
    out.append(MSGPACK_OPENS);
    appendArrayLength(out, markets.length);
    for (const market of markets) this.#fragments.append(out, market);
    out.append(MSGPACK_PAGINATION);
    out.append(this.#encode(pagination));
  }
}
