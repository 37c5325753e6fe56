import type { Codec } from './codec.ts';
import { gammaMarkets } from './formats/gamma.ts';
import { priceHistories } from './formats/gamma-price-history.ts';
import { marketLists } from './formats/market-list.ts';
import { ownMsgpack } from './formats/msgpack-codec.ts';
import { ownNdjson } from './formats/ndjson.ts';
import { parquetBooks } from './formats/parquet-books.ts';
import { quotesCsv } from './formats/quotes-csv.ts';
import { secondSnapshots } from './formats/second-snapshots.ts';
import { ownSegments } from './formats/segments.ts';
import { spotCsv } from './formats/spot-csv.ts';
import { pmxtParquet } from './venue/pmxt-parquet.ts';
import { venueFrames } from './venue/venue-frames.ts';
import type { SnapshotPace } from './venue/venue-pace.ts';

/** Every format that can be imported, in the order in which a file is tried against them. */
export function codecsFor(every: SnapshotPace): readonly Codec[] {
  return [
    ownMsgpack(),
    ownSegments(),
    pmxtParquet({ every }),
    parquetBooks(),
    gammaMarkets(),
    marketLists(),
    priceHistories(),
    spotCsv(),
    quotesCsv(),
    secondSnapshots(),
    venueFrames({ every }),
    // Takes pipes that nothing else recognises.
    ownNdjson(),
  ];
}
