import type { InstantMs } from '../../domain/instant.ts';
import { UNKNOWN_TOKEN } from '../../venue/market-fields.ts';
import { type Computation, computationOf } from './computation.ts';
import { type DataType, EXCHANGE } from './data-type.ts';
import { TardisFeed } from './feed.ts';
import { recordsOf } from './mapper.ts';
import { marketsOf, type TardisSource } from './native-stream.ts';
import type { NormalizedOptions } from './options.ts';
import { dateOf, RecordTexts, type SourceRecord, type TardisRecord } from './record.ts';
import { MergedStream, type StreamItem, type TardisStream } from './stream.ts';

/** The records that each kind is made of. */
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
  /** Kinds of records that the client wants, and those that they are made of. */
  readonly #asked: ReadonlySet<string>;
  readonly #needed: ReadonlySet<string>;
  readonly #computations = new Map<string, readonly Computation[]>();
  readonly #texts = new RecordTexts();
  readonly #ready: StreamItem[] = [];
  /** Records of the present event that are still to be sent: it may have hundreds, and of each much may be computed. */
  #records: SourceRecord[] = [];
  /** The time of the last record that anything is made of. */
  #lastMs: InstantMs | undefined;
  /** Whether nothing was sent since a connection was lost. */
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

  /** Goes on to the next event, and returns when that is; undefined after the last one. */
  #enter(): InstantMs | undefined {
    const event = this.#feed.next();
    if (event === undefined) return undefined;
    if (event.kind === 'disconnected') this.#disconnect();
    // Nothing comes any more that bars and snapshots are made of.
    if (event.kind === 'ended')
      for (const symbol of event.playback.market.clobTokenIds) this.#computations.delete(symbol);
    this.#records = recordsOf(event).filter((record) => this.#isWanted(record));
    return event.localMs;
  }

  #isWanted({ symbol, type }: SourceRecord): boolean {
    return this.#needed.has(type) && symbol !== UNKNOWN_TOKEN && this.#symbols?.has(symbol) !== false;
  }

  /** Sends a record and what is computed of it; returns when that is. */
  #take(record: SourceRecord): InstantMs {
    const { symbol, type } = record;
    const localMs = record.localTimestamp.getTime();
    this.#lastMs = localMs;
    this.#isDisconnected = false;
    if (this.#asked.has(type)) this.#push(record, localMs);
    for (const computation of this.#computationsOf(symbol)) {
      for (const computed of computation.of(record)) this.#push(computed, localMs);
    }
    return localMs;
  }

  #computationsOf(symbol: string): readonly Computation[] {
    const known = this.#computations.get(symbol);
    if (known !== undefined) return known;
    const made = this.#options.dataTypes.flatMap((type) => computationOf(type) ?? []);
    this.#computations.set(symbol, made);
    return made;
  }

  /** A client that wants disconnects begins anew, and so do computations; else all goes on with the books of the new connection. */
  #disconnect(): void {
    if (!this.#options.withDisconnects || this.#lastMs === undefined || this.#isDisconnected) return;
    this.#isDisconnected = true;
    this.#computations.clear();
    const { assetIds } = this.#options;
    const localTimestamp = dateOf(this.#lastMs);
    this.#push({ type: 'disconnect', exchange: EXCHANGE, localTimestamp, symbols: assetIds }, this.#lastMs);
  }

  #push(record: TardisRecord, localMs: InstantMs): void {
    this.#ready.push({ kind: 'text', text: this.#texts.text(record), localMs });
  }
}
