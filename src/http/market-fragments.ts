import type { ByteBuffer } from '../book/byte-buffer.ts';
import { marketResource } from '../domain/market.ts';
import type { MarketState, Markets } from '../store/markets.ts';

interface Fragment {
  readonly revision: number;
  readonly bytes: Uint8Array;
}

/**
 * Markets as they stand in a list, in one format: each is made once, and again when it has changed, so that a list costs
 * little also while an import goes on. At most `bytesMax` of them: one more, and all are given up.
 */
export class MarketFragments {
  readonly #markets: Markets;
  readonly #encode: (value: unknown) => Uint8Array;
  readonly #bytesMax: number;
  readonly #held = new Map<number, Fragment>();
  #bytes = 0;

  constructor(markets: Markets, encode: (value: unknown) => Uint8Array, bytesMax: number) {
    this.#markets = markets;
    this.#encode = encode;
    this.#bytesMax = bytesMax;
  }

  append(out: ByteBuffer, { key, revision }: MarketState): void {
    const held = this.#held.get(key);
    out.append(held?.revision === revision ? held.bytes : this.#make(key));
  }

  #make(key: number): Uint8Array {
    const market = this.#markets.byKey(key);
    const bytes = this.#encode(marketResource(market));
    this.#bytes += bytes.length - (this.#held.get(key)?.bytes.length ?? 0);
    if (this.#bytes > this.#bytesMax) {
      this.#held.clear();
      this.#bytes = bytes.length;
    }
    this.#held.set(key, { revision: market.revision, bytes });
    return bytes;
  }
}
