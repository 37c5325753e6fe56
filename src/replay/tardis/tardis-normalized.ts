import type { InstantMs } from '../../domain/instant.ts';
import { UNKNOWN_TOKEN } from '../../venue/market-fields.ts';
import { type Computation, computationOf } from './tardis-computed.ts';
import { type DataType, EXCHANGE } from './tardis-data-type.ts';
import { TardisFeed } from './tardis-feed.ts';
import { recordsOf } from './tardis-mapper.ts';
import { marketsOf, type TardisSource } from './tardis-native.ts';
import type { NormalizedOptions } from './tardis-options.ts';
import { dateOf, type SourceRecord, type TardisRecord } from './tardis-record.ts';
import { MergedStream, type StreamItem, type TardisStream } from './tardis-stream.ts';
import { RecordTexts } from './tardis-text.ts';

/** What each kind of record is made of. */
const SOURCE_OF: Readonly<Record<DataType['kind'], SourceRecord['type']>> = {
  trade: 'trade',
  book_change: 'book_change',
  book_ticker: 'book_ticker',
  book_snapshot: 'book_change',
  trade_bar: 'trade',
};

/** Records of several options as one stream. Wants a view of the archive. */
export function normalizedStream(source: TardisSource, options: readonly NormalizedOptions[]): TardisStream {
  const streams = options.map((each) => new NormalizedStream(source, each));
  return streams.length === 1 ? streams[0]! : new MergedStream(streams);
}

/** tardis' normalized records of one set of options, each followed by those that are computed of it. */
class NormalizedStream implements TardisStream {
  readonly #options: NormalizedOptions;
  readonly #feed: TardisFeed;
  readonly #symbols: ReadonlySet<string> | undefined;
  /** Kinds of records that messages give, and that somebody asked for. */
  readonly #asked: ReadonlySet<string>;
  /** Those that something is made of. */
  readonly #needed: ReadonlySet<string>;
  readonly #computations = new Map<string, readonly Computation[]>();
  readonly #texts = new RecordTexts();
  readonly #ready: StreamItem[] = [];
  /** Those of the present event that are still to be told of: it may have hundreds, and of each much may be computed. */
  #records: SourceRecord[] = [];
  /** When something was told last that anything is made of. */
  #lastMs: InstantMs | undefined;
  /** Whether nothing was told since a connection was lost. */
  #isDisconnected = false;

  constructor(source: TardisSource, options: NormalizedOptions) {
    const { assetIds, dataTypes } = options;
    this.#options = options;
    this.#symbols = assetIds === undefined ? undefined : new Set(assetIds);
    this.#asked = new Set(dataTypes.map(({ kind }) => kind));
    this.#needed = new Set(dataTypes.map(({ kind }) => SOURCE_OF[kind]));
    this.#feed = new TardisFeed(source.archive, source.ticks, options, assetIds === undefined);
    if (assetIds !== undefined) this.#feed.include(marketsOf(source.archive, assetIds));
  }

  check(): void {
    this.#feed.check();
  }

  next(): StreamItem | undefined {
    const ready = this.#ready.shift();
    if (ready !== undefined) return ready;
    const record = this.#records.shift();
    const localMs = record === undefined ? this.#enter() : this.#take(record);
    if (localMs === undefined) return undefined;
    return this.#ready.shift() ?? { kind: 'rest', text: '', localMs };
  }

  /** Goes on to the next event, and says when that is; undefined behind the last one. */
  #enter(): InstantMs | undefined {
    const event = this.#feed.next();
    if (event === undefined) return undefined;
    if (event.kind === 'disconnected') this.#disconnect();
    // Nobody tells any more of what bars and snapshots are made of.
    if (event.kind === 'ended')
      for (const symbol of event.playback.market.clobTokenIds) this.#computations.delete(symbol);
    this.#records = recordsOf(event).filter((record) => this.#isWanted(record));
    return event.localMs;
  }

  #isWanted({ symbol, type }: SourceRecord): boolean {
    return this.#needed.has(type) && symbol !== UNKNOWN_TOKEN && this.#symbols?.has(symbol) !== false;
  }

  /** Tells of a record, and returns when. */
  #take(record: SourceRecord): InstantMs {
    const { symbol, type } = record;
    const localMs = record.localTimestamp.getTime();
    this.#lastMs = localMs;
    this.#isDisconnected = false;
    if (this.#asked.has(type)) this.#tell(record, localMs);
    for (const computation of this.#computationsOf(symbol)) {
      for (const computed of computation.of(record)) this.#tell(computed, localMs);
    }
    return localMs;
  }

  #computationsOf(symbol: string): readonly Computation[] {
    let held = this.#computations.get(symbol);
    if (held === undefined) {
      held = this.#options.dataTypes.flatMap((type) => computationOf(type) ?? []);
      this.#computations.set(symbol, held);
    }
    return held;
  }

  /** Who is told of it begins anew, and so does what is computed; else everything goes on with the books of the new connection. */
  #disconnect(): void {
    if (!this.#options.withDisconnects || this.#lastMs === undefined || this.#isDisconnected) return;
    this.#isDisconnected = true;
    this.#computations.clear();
    const { assetIds } = this.#options;
    const localTimestamp = dateOf(this.#lastMs);
    this.#tell({ type: 'disconnect', exchange: EXCHANGE, localTimestamp, symbols: assetIds }, this.#lastMs);
  }

  #tell(record: TardisRecord, localMs: InstantMs): void {
    this.#ready.push({ kind: 'text', text: this.#texts.text(record), localMs });
  }
}
