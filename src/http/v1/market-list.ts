import type { InstantMs } from '../../domain/instant.ts';
import { marketResource } from '../../domain/market.ts';
import type { Timeframe } from '../../domain/timeframe.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import { appendArrayLength, msgpackText } from '../../segment/msgpack-writer.ts';
import type { Archive } from '../../store/archive.ts';
import type { ListPosition, MarketFilter } from '../../store/markets.ts';
import { VersionedCache } from '../../store/versioned-cache.ts';
import type { Format } from '../response/responder.ts';

/** Markets in a chunk: few enough to write a whole chunk for a short list. */
const CHUNK_MARKETS = 64;
/** About 10,000 markets, 8 MB. */
const CHUNKS_MAX = 160;

/** A part of a list. Timeframe undefined: markets of all timeframes. */
interface ListedMarkets {
  readonly timeframe: Timeframe | undefined;
  readonly limit: number;
  readonly skip: number;
}

export interface MarketListQuery extends Omit<ListedMarkets, 'timeframe'> {
  readonly filter: MarketFilter;
  /** True if each market gets the number of its snapshots. */
  readonly hasCounts: boolean;
  /** True if the markets of the whole list are counted. */
  readonly hasTotals: boolean;
  /** The latest instant that the list may show; undefined: no limit. */
  readonly asOfMs: InstantMs | undefined;
}

/** Consecutive markets of a list. */
interface Chunk {
  /** The markets, with separators between them. */
  readonly bytes: Uint8Array;
  /** The end of each market in `bytes`. */
  readonly ends: readonly number[];
  readonly last: ListPosition | undefined;
}

const encoder = new TextEncoder();
const NOTHING = new Uint8Array();

/** The bytes around the markets of a list; in msgpack `begin` is followed by their number. */
const FRAMES = {
  json: {
    begin: encoder.encode('{"data":['),
    separator: encoder.encode(','),
    pagination: encoder.encode('],"pagination":'),
    end: encoder.encode('}'),
  },
  msgpack: {
    // A map of two.
    begin: Uint8Array.of(0x82, ...msgpackText('data')),
    separator: NOTHING,
    pagination: msgpackText('pagination'),
    end: NOTHING,
  },
} as const satisfies Record<Format, unknown>;

/**
 * Lists of markets in one format, `{data, pagination}`. Their chunks are cached until the archive changes: to read and write a
 * thousand markets takes ten times as long as to copy their bytes. Call it within `Database.readShared`.
 */
export class MarketList {
  readonly #archive: Pick<Archive, 'markets'>;
  readonly #format: Format;
  readonly #frame: (typeof FRAMES)[Format];
  readonly #encode: (value: unknown) => Uint8Array;
  readonly #chunks: VersionedCache<Chunk>;
  readonly #out = new ByteBuffer();

  constructor(archive: Pick<Archive, 'database' | 'markets'>, format: Format, encode: (value: unknown) => Uint8Array) {
    this.#archive = archive;
    this.#format = format;
    this.#frame = FRAMES[format];
    this.#encode = encode;
    this.#chunks = new VersionedCache(archive.database, CHUNKS_MAX);
  }

  /** A whole answer about a recorded coin; valid until the next call. */
  write(coin: string, { timeframe, limit, skip }: ListedMarkets): Uint8Array<ArrayBuffer> {
    const out = this.#out;
    const { begin, separator, pagination, end } = this.#frame;
    const parts: Uint8Array[] = [];
    let count = 0;
    let hasMore = false;
    let chunk: Chunk | undefined;
    for (let number = Math.floor(skip / CHUNK_MARKETS); !hasMore; number += 1) {
      chunk = this.#chunk(coin, timeframe, number, chunk?.last);
      const { bytes, ends } = chunk;
      const from = Math.max(0, skip - number * CHUNK_MARKETS);
      const to = Math.min(ends.length, from + limit - count);
      if (to > from) parts.push(bytes.subarray(from === 0 ? 0 : ends[from - 1]! + separator.length, ends[to - 1]));
      count += Math.max(0, to - from);
      hasMore = count === limit && to < ends.length;
      if (ends.length < CHUNK_MARKETS) break;
    }
    out.clear();
    out.append(begin);
    if (this.#format === 'msgpack') appendArrayLength(out, count);
    for (const [i, part] of parts.entries()) {
      if (i > 0) out.append(separator);
      out.append(part);
    }
    out.append(pagination);
    out.append(this.#encode({ limit, skip, count, hasMore }));
    out.append(end);
    return out.view();
  }

  /** `after`: the last market of the previous chunk, if known. */
  #chunk(coin: string, timeframe: Timeframe | undefined, number: number, after: ListPosition | undefined): Chunk {
    return this.#chunks.find(`${coin} ${timeframe ?? ''} ${number}`, () => {
      const { markets } = this.#archive;
      const from = number === 0 ? undefined : (after ?? markets.skip(coin, timeframe, number * CHUNK_MARKETS));
      const found = number > 0 && from === undefined ? [] : markets.list(coin, timeframe, CHUNK_MARKETS, 0, from);
      const out = new ByteBuffer();
      const ends = found.map((market, i) => {
        if (i > 0) out.append(this.#frame.separator);
        out.append(this.#encode(marketResource(market)));
        return out.length;
      });
      return { bytes: out.view().slice(), ends, last: found.at(-1) };
    })!;
  }
}
