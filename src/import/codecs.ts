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
import { mappingCodec } from './mapping/mapping-codec.ts';
import type { Mapping } from './mapping/mapping-schema.ts';

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

/** How the named files of an import are read; without either, as their content says. */
export interface NamedFiles {
  /** Reads the named files, and files of directories that it fits. */
  readonly mapping?: Mapping;
  /** Makes the codec that reads the named files, whatever they look like. */
  readonly codec?: () => Codec;
}

/** The codec of the named files, if there is one, then those of all formats: each import, and each reading, has its own. */
export function codecsOf({ mapping, codec }: NamedFiles): readonly Codec[] {
  if (codec !== undefined) return [codec(), ...allCodecs()];
  return mapping === undefined ? allCodecs() : [mappingCodec(mapping), ...allCodecs()];
}

/** The rows of the manual's table of formats, as Markdown. */
export function formatRows(): string {
  return allCodecs()
    .map(({ format, input, becomes }) => `| ${format} | ${input} | ${becomes} |`)
    .join('\n');
}
