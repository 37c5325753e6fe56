import { Database } from 'bun:sqlite';
import { bookCodec } from '../../../src/book/book-segment.ts';
import { priceCodec } from '../../../src/book/price-segment.ts';
import { quoteCodec } from '../../../src/book/quote-segment.ts';
import { RUN_RECORDS_MAX, type RunCodec } from '../../../src/book/run.ts';
import { DOUBLES } from '../../../src/book/scale.ts';
import type { Place } from '../../../src/domain/page.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { encodeBooks1, encodePrices1, encodeQuotes1 } from '../../book/version-1-encoder.ts';

const PRICE_SCALE = 12;
const SIZE_SCALE = 6;

/** Makes of an archive one as an earlier build had left it: all segments of version 1, `countMax` records each. */
export function storeAsVersion1(archive: Archive, countMax = RUN_RECORDS_MAX): void {
  using database = new Database(archive.database.path);
  const series = database.query<{ id: number; kind: string }, []>('SELECT series_id AS id, kind FROM series').all();
  const payloadsOf = database.query<{ payload: Uint8Array }, [number]>(
    'SELECT payload FROM segments WHERE series_id = ? ORDER BY last_ms, last_id',
  );
  const insert = database.query<never, [number, number, number, number, number, number, Uint8Array, Uint8Array]>(
    `INSERT INTO segments (series_id, first_ms, first_id, last_ms, last_id, records, digest, payload)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const rewrite = <R extends Place>(id: number, codec: RunCodec<R>, encode: (records: readonly R[]) => Uint8Array) => {
    const records = payloadsOf.all(id).flatMap(({ payload }) => codec.decode(payload));
    database.query<never, [number]>('DELETE FROM segments WHERE series_id = ?').run(id);
    for (let from = 0; from < records.length; from += countMax) {
      const run = records.slice(from, from + countMax);
      const [first, last] = [run[0]!, run.at(-1)!];
      const payload = encode(run);
      const digest = new Bun.CryptoHasher('sha256').update(payload).digest();
      insert.run(id, first.timestampMs, first.id, last.timestampMs, last.id, run.length, digest, payload);
    }
  };
  database.transaction(() => {
    for (const { id, kind } of series) {
      if (kind === 'book') {
        rewrite(id, bookCodec, (run) =>
          encodeBooks1(run, PRICE_SCALE, scaleOf(run.flatMap(({ book }) => [...book.bidSizes, ...book.askSizes]))),
        );
      } else if (kind.endsWith('quote')) {
        rewrite(id, quoteCodec, (run) =>
          encodeQuotes1(
            run,
            PRICE_SCALE,
            scaleOf(run.flatMap(({ quote }) => [quote.bidSize ?? 0, quote.askSize ?? 0])),
          ),
        );
      } else {
        rewrite(id, priceCodec, (run) => encodePrices1(run, DOUBLES));
      }
    }
  })();
}

function scaleOf(sizes: readonly number[]): number {
  const unit = 10 ** SIZE_SCALE;
  return sizes.every((size) => size < 1e9 && Math.round(size * unit) / unit === size) ? SIZE_SCALE : DOUBLES;
}
