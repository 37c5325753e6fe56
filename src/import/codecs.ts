import type { Codec } from './codec.ts';
import { clobMarkets } from './codecs/clob-markets.ts';
import { dataApiTrades, dataApiTradesCsv } from './codecs/data-api-trades.ts';
import { gammaMarkets } from './codecs/gamma.ts';
import { priceHistories } from './codecs/gamma-price-history.ts';
import { kalshiFrames } from './codecs/kalshi.ts';
import { marketLists } from './codecs/market-list.ts';
import { bookreelMsgpack } from './codecs/msgpack.ts';
import { bookreelNdjson } from './codecs/ndjson.ts';
import { oneSecondSnapshots } from './codecs/one-second-snapshots.ts';
import { bookreelCsv, bookreelParquet, bookreelSqlite } from './codecs/own-tables.ts';
import { parquetBooks } from './codecs/parquet-books.ts';
import { pmxtParquet } from './codecs/pmxt-parquet.ts';
import { quotesCsv } from './codecs/quotes-csv.ts';
import { recorderJournal } from './codecs/recorder-journal.ts';
import { bookreelSegments } from './codecs/segments.ts';
import { spotCsv } from './codecs/spot-csv.ts';
import { venueFrames } from './codecs/venue-frames.ts';

/** The codecs of all formats. A file has the format of the first one that recognises it. */
export function allCodecs(): readonly Codec[] {
  return [
    bookreelMsgpack(),
    bookreelSegments(),
    bookreelCsv(),
    bookreelParquet(),
    bookreelSqlite(),
    pmxtParquet(),
    parquetBooks(),
    gammaMarkets(),
    clobMarkets(),
    dataApiTrades(),
    dataApiTradesCsv(),
    marketLists(),
    priceHistories(),
    spotCsv(),
    quotesCsv(),
    oneSecondSnapshots(),
    recorderJournal(),
    kalshiFrames(),
    venueFrames(),
    // Last, because it recognises every pipe.
    bookreelNdjson(),
  ];
}

/** The rows of the manual's table of formats, as Markdown. */
export function formatRows(): string {
  return allCodecs()
    .map(({ format, input, becomes }) => `| ${format} | ${input} | ${becomes} |`)
    .join('\n');
}
