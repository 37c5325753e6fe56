import { marketResource } from '../../domain/market.ts';
import type { Timeframe } from '../../domain/timeframe.ts';
import { ByteBuffer } from '../../segment/byte-buffer.ts';
import { appendArrayLength, msgpackText } from '../../segment/msgpack-writer.ts';
import type { Archive } from '../../store/archive.ts';
import type { ListPosition } from '../../store/markets.ts';
import { VersionedCache } from '../../store/versioned-cache.ts';
import type { Format } from './responder.ts';

/** Lists are kept in stretches of so many markets: few enough to be written for a short list alone. */
const STRETCH = 64;
/** About 10,000 markets, 8 MB. */
const STRETCHES_MAX = 160;

export interface MarketListQuery {
  readonly timeframe: Timeframe | undefined;
  readonly limit: number;
  readonly skip: number;
}

interface Pagination {
  readonly limit: number;
  readonly skip: number;
  readonly count: number;
  readonly hasMore: boolean;
}

/** Markets that follow each other in a list, as bytes. */
interface Stretch {
  /** One market after another, with what stands between them. */
  readonly bytes: Uint8Array;
  /** Where each market ends. */
  readonly ends: readonly number[];
  readonly last: ListPosition | undefined;
}

const encoder = new TextEncoder();
const NOTHING = new Uint8Array();

/** What stands around the markets of a list; in msgpack their number as well, behind `opens`. */
const FRAMES = {
  json: {
    opens: encoder.encode('{"data":['),
    between: encoder.encode(','),
    paginates: encoder.encode('],"pagination":'),
    closes: encoder.encode('}'),
  },
  msgpack: {
    // A map of two.
    opens: Uint8Array.of(0x82, ...msgpackText('data')),
    between: NOTHING,
    paginates: msgpackText('pagination'),
    closes: NOTHING,
  },
} as const satisfies Record<Format, unknown>;

/**
 * Lists of markets in one format, `{data, pagination}`. What they are put together from is kept until the archive changes: to
 * read and write a thousand markets takes ten times as long as to copy their bytes. Within `Database.readShared`.
 */
export class MarketList {
  readonly #archive: Pick<Archive, 'markets'>;
  readonly #format: Format;
  readonly #encode: (value: unknown) => Uint8Array;
  readonly #stretches: VersionedCache<Stretch>;
  readonly #out = new ByteBuffer();

  constructor(archive: Pick<Archive, 'database' | 'markets'>, format: Format, encode: (value: unknown) => Uint8Array) {
    this.#archive = archive;
    this.#format = format;
    this.#encode = encode;
    this.#stretches = new VersionedCache(archive.database, STRETCHES_MAX);
  }

  /** A whole answer about a coin that is recorded; valid until the next one is written. */
  write(coin: string, { timeframe, limit, skip }: MarketListQuery): Uint8Array<ArrayBuffer> {
    const { between } = FRAMES[this.#format];
    const parts: Uint8Array[] = [];
    let count = 0;
    let hasMore = false;
    let stretch: Stretch | undefined;
    for (let nth = Math.floor(skip / STRETCH); !hasMore; nth += 1) {
      stretch = this.#stretch(coin, timeframe, nth, stretch?.last);
      const { bytes, ends } = stretch;
      const from = Math.max(0, skip - nth * STRETCH);
      const to = Math.min(ends.length, from + limit - count);
      if (to > from) parts.push(bytes.subarray(from === 0 ? 0 : ends[from - 1]! + between.length, ends[to - 1]));
      count += Math.max(0, to - from);
      hasMore = count === limit && to < ends.length;
      if (ends.length < STRETCH) break;
    }
    return this.#framed(parts, { limit, skip, count, hasMore });
  }

  #framed(parts: readonly Uint8Array[], pagination: Pagination): Uint8Array<ArrayBuffer> {
    const out = this.#out;
    const { opens, between, paginates, closes } = FRAMES[this.#format];
    out.clear();
    out.append(opens);
    if (this.#format === 'msgpack') appendArrayLength(out, pagination.count);
    for (const [i, part] of parts.entries()) {
      if (i > 0) out.append(between);
      out.append(part);
    }
    out.append(paginates);
    out.append(this.#encode(pagination));
    out.append(closes);
    return out.view();
  }

  /** `behind`: the last market of the stretch before, where that is known. */
  #stretch(coin: string, timeframe: Timeframe | undefined, nth: number, behind: ListPosition | undefined): Stretch {
    return this.#stretches.find(`${coin} ${timeframe ?? ''} ${nth}`, () => {
      const { markets } = this.#archive;
      const from = nth === 0 ? undefined : (behind ?? markets.skip(coin, timeframe, nth * STRETCH));
      const found = nth > 0 && from === undefined ? [] : markets.list(coin, timeframe, STRETCH, 0, from);
      const out = new ByteBuffer();
      const ends = found.map((market, i) => {
        if (i > 0) out.append(FRAMES[this.#format].between);
        out.append(this.#encode(marketResource(market)));
        return out.length;
      });
      return { bytes: out.view().slice(), ends, last: found.at(-1) };
    })!;
  }
}
