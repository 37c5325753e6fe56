import type { InstantMs } from '../../domain/instant.ts';
import { type Computation, computationOf } from './computation.ts';
import { type DataType, EXCHANGE } from './data-type.ts';
import { TardisFeed } from './feed.ts';
import { recordsOf } from './mapper.ts';
import { marketsOf } from './native-stream.ts';
import { RecordTexts, type SourceRecord, type TardisRecord } from './normalized-record.ts';
import type { NormalizedOptions } from './options.ts';
import type { TardisSource } from './source.ts';
import { MergedStream, type StreamItem, type TardisStream } from './stream.ts';

/** The records that each kind is made from. */
const SOURCE_OF: Readonly<Record<DataType['kind'], SourceRecord['type']>> = {
  trade: 'trade',
  book_change: 'book_change',
  book_ticker: 'book_ticker',
  book_snapshot: 'book_change',
  trade_bar: 'trade',
};

/** The records of several options as one stream. Needs a view of the archive. */
export function normalizedStream(source: TardisSource, options: readonly NormalizedOptions[]): TardisStream {
  const streams = options.map((each) => new NormalizedStream(source, each));
  return streams.length === 1 ? streams[0]! : new MergedStream(streams);
}

/** tardis' normalized records for one set of options, each followed by the records that are computed from it. */
class NormalizedStream implements TardisStream {
  readonly #options: NormalizedOptions;
  readonly #feed: TardisFeed;
  readonly #symbols: ReadonlySet<string> | undefined;
  /** The kinds of records that the client wants, and the kinds that they are made from. */
  readonly #wanted: ReadonlySet<string>;
  readonly #needed: ReadonlySet<string>;
  readonly #computations = new Map<string, readonly Computation[]>();
  readonly #texts = new RecordTexts();
  /** The last record that was used, and its place in the order of the stream. */
  #last: { readonly localMs: InstantMs; readonly localTimestamp: Date } | undefined;
  /** True if nothing was sent since the last disconnect. */
  #isDisconnected = false;
  readonly #items = this.#play();

  constructor(source: TardisSource, options: NormalizedOptions) {
    const { assetIds, dataTypes } = options;
    this.#options = options;
    this.#symbols = assetIds === undefined ? undefined : new Set(assetIds);
    this.#wanted = new Set(dataTypes.map(({ kind }) => kind));
    this.#needed = new Set(dataTypes.map(({ kind }) => SOURCE_OF[kind]));
    this.#feed = new TardisFeed(source, options, assetIds === undefined);
    if (assetIds !== undefined) this.#feed.include(marketsOf(source.archive, assetIds));
  }

  check(): void {
    this.#feed.check();
  }

  next(): StreamItem | undefined {
    return this.#items.next().value;
  }

  /** An event may have hundreds of records with long computations: after each one without a result other work gets its turn. */
  *#play(): Generator<StreamItem, undefined> {
    for (let event = this.#feed.next(); event !== undefined; event = this.#feed.next()) {
      const { localMs } = event;
      const rest: StreamItem = { kind: 'rest', text: '', localMs };
      if (event.kind === 'disconnected') yield this.#disconnect() ?? rest;
      // Bars and snapshots of this market get no more records.
      if (event.kind === 'ended')
        for (const symbol of event.playback.market.clobTokenIds) this.#computations.delete(symbol);
      const records = recordsOf(event).filter((record) => this.#isWanted(record));
      if (records.length === 0) yield rest;
      for (const record of records) {
        this.#last = { localMs, localTimestamp: record.localTimestamp };
        this.#isDisconnected = false;
        const made: TardisRecord[] = this.#wanted.has(record.type) ? [record] : [];
        for (const computation of this.#computationsOf(record.symbol)) made.push(...computation.of(record));
        if (made.length === 0) yield rest;
        for (const each of made) yield { kind: 'text', text: this.#texts.text(each), localMs };
      }
    }
  }

  #isWanted({ symbol, type }: SourceRecord): boolean {
    return this.#needed.has(type) && this.#symbols?.has(symbol) !== false;
  }

  #computationsOf(symbol: string): readonly Computation[] {
    const known = this.#computations.get(symbol);
    if (known !== undefined) return known;
    const made = this.#options.dataTypes.flatMap((type) => computationOf(type) ?? []);
    this.#computations.set(symbol, made);
    return made;
  }

  /** Starts computations again if the client wants disconnects; otherwise they continue with the books of the new connection. */
  #disconnect(): StreamItem | undefined {
    if (!this.#options.withDisconnects || this.#last === undefined || this.#isDisconnected) return undefined;
    const { localMs, localTimestamp } = this.#last;
    this.#isDisconnected = true;
    this.#computations.clear();
    const { assetIds: symbols } = this.#options;
    const record = { type: 'disconnect', exchange: EXCHANGE, localTimestamp, symbols } as const;
    return { kind: 'text', text: this.#texts.text(record), localMs };
  }
}
