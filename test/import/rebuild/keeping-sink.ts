import { DomainError } from '../../../src/domain/errors.ts';
import { INSTANT_MAX_MS } from '../../../src/domain/instant.ts';
import type { MarketStatement } from '../../../src/domain/market-statement.ts';
import { OUTCOMES } from '../../../src/domain/outcome.ts';
import { Batch } from '../../../src/import/batch.ts';
import type { Codec } from '../../../src/import/codec.ts';
import { Contradictions } from '../../../src/import/contradictions.ts';
import { KnownMarkets } from '../../../src/import/known-markets.ts';
import { Occurrences } from '../../../src/import/occurrences.ts';
import type { AssetEvent, AssetTarget } from '../../../src/import/rebuild/asset-event.ts';
import { IntervalBooks } from '../../../src/import/rebuild/interval-books.ts';
import { endMessages } from '../../../src/import/rebuild/merged-books.ts';
import type { SnapshotPace } from '../../../src/import/rebuild/pace.ts';
import { StatedBooks } from '../../../src/import/rebuild/stated-books.ts';
import type { StatedMoment } from '../../../src/import/rebuild/stated-moments.ts';
import type { RecordSink } from '../../../src/import/record-sink.ts';
import type { RecordingFile } from '../../../src/import/recording-file.ts';
import { Sample } from '../../../src/import/sample.ts';
import type { SourceItem } from '../../../src/import/source-item.ts';
import type { RecordedItem } from '../../../src/record/record.ts';
import { pricesIn } from '../../../src/segment/price-segment.ts';
import type { Archive } from '../../../src/store/archive.ts';

/** An item and the results of its parts. */
interface KeptItem extends SourceItem {
  readonly kind: string;
  readonly parts: number;
  added: number;
  finished: number;
  readonly reasons: string[];
}

/** A sink that keeps all records and results in order, without an archive. */
export class KeepingSink implements RecordSink {
  readonly markets: KnownMarkets;
  readonly items: KeptItem[] = [];
  readonly records: RecordedItem[] = [];
  readonly ignored: Record<string, number> = {};

  readonly #archive: Archive;
  readonly #books = new StatedBooks();
  readonly #known = new Set<string>();

  constructor(archive: Archive) {
    this.#archive = archive;
    this.markets = new KnownMarkets(archive);
  }

  item(kind: string, line: number, parts = 1): KeptItem {
    const item = { kind, line, parts, added: 0, finished: 0, reasons: [] };
    this.items.push(item);
    return item;
  }

  add(record: RecordedItem, items: readonly KeptItem[]): void {
    if (record.type === 'market') this.markets.addStatement(record.statement);
    this.records.push(record);
    for (const item of items) item.added += 1;
  }

  addFrom(items: readonly KeptItem[], parse: () => RecordedItem): void {
    this.add(parse(), items);
  }

  reject(item: KeptItem, reason: string): void {
    item.reasons.push(reason);
  }

  finish(item: KeptItem): void {
    item.finished += 1;
  }

  store(item: KeptItem): void {
    item.added += 1;
  }

  contradict(item: KeptItem): void {
    this.finish(item);
  }

  state(target: AssetTarget, event: AssetEvent): void {
    this.#books.add(target, event);
  }

  /** States a market, in the archive too. */
  know(statement: MarketStatement): void {
    this.markets.addStatement(statement);
    this.#archive.markets.put(statement, 0);
    this.#known.add(statement.conditionId);
  }

  /** Merges what messages stated of books into the archive, and adds its snapshots and gaps to the records. */
  settle(every: SnapshotPace): void {
    const books = this.#books.take(true);
    const { checks } = this.#books;
    if (every !== 'change') {
      for (const asset of books) new IntervalBooks(every, asset, checks).add(asset.moments, true, this);
      return;
    }
    for (const { statement } of this.recordsOf('market')) this.know(statement);
    const batch = new Batch<readonly KeptItem[]>(this.#archive, this.markets, new Occurrences(), new Contradictions());
    batch.commit(0, books, { checks, lastId: 0 });
    for (const { moments, added, traded, gaps } of batch.merged) {
      const revealing = new Set(gaps.map(({ item }) => item));
      const isStored = (moment: StatedMoment, item: SourceItem) => {
        const stored = added.has(moment) || traded.has(item) || revealing.has(item);
        if (stored) (this as RecordSink).store(item);
        return stored;
      };
      endMessages(moments, isStored, this);
    }
    for (const conditionId of this.#known) {
      const market = this.#archive.markets.findByConditionId(conditionId)!;
      for (const outcome of OUTCOMES) {
        const assetId = market.clobTokenIds[OUTCOMES.indexOf(outcome)];
        const names = { conditionId, outcome, assetId, id: undefined };
        for (const { timestampMs, book } of this.#archive.snapshots.recordsBetween(
          market,
          outcome,
          0,
          INSTANT_MAX_MS,
        )) {
          this.records.push({ type: 'snapshot', ...names, timestampMs, book, droppedLevels: 0 });
        }
        const prices = this.#archive.prices.slices(market, outcome, 'last-trade', 0, INSTANT_MAX_MS);
        for (const { timestampMs, price } of pricesIn(prices)) {
          this.records.push({ type: 'lastTradePrice', ...names, timestampMs, price });
        }
      }
      for (const gap of this.#archive.gaps.list(market.key)) this.records.push({ type: 'gap', conditionId, gap });
    }
  }

  notes(): readonly string[] {
    return this.#books.checks.notes();
  }

  ignore(kind: string): void {
    this.ignored[kind] = (this.ignored[kind] ?? 0) + 1;
  }

  take(kind: string, line: number, parse: () => Iterable<RecordedItem>): void {
    const item = this.item(kind, line);
    try {
      const records = [...parse()];
      for (const record of records) this.add(record, []);
      if (records.length > 0) item.added += 1;
      else item.finished += 1;
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'rejected-record') throw error;
      this.reject(item, error.message);
    }
  }

  recordsOf<Type extends RecordedItem['type']>(type: Type): Extract<RecordedItem, { type: Type }>[] {
    return this.records.filter((record): record is Extract<RecordedItem, { type: Type }> => record.type === type);
  }

  /** Items with parts that did not end, or ended twice. */
  openItems(): KeptItem[] {
    return this.items.filter((item) => item.added + item.finished + item.reasons.length !== item.parts);
  }

  /** The number of items read and rejected, by kind. */
  counts(): Record<string, { read: number; rejected: number }> {
    const counts: Record<string, { read: number; rejected: number }> = {};
    for (const { kind, reasons } of this.items) {
      counts[kind] ??= { read: 0, rejected: 0 };
      counts[kind].read += 1;
      if (reasons.length > 0) counts[kind].rejected += 1;
    }
    return counts;
  }

  reasons(): string[] {
    return this.items.flatMap((item) => item.reasons);
  }
}

/** A file of these lines, in memory. */
function fileOf(lines: readonly string[]): RecordingFile {
  const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''));
  const { name, isJsonLines } = new Sample('capture.jsonl', bytes);
  return {
    path: name,
    name,
    isJsonLines,
    async *bytes() {
      yield bytes;
    },
  };
}

/** Reads files of these lines one after the other, then finishes the codec and settles the books. */
export async function readAll(
  codec: Codec,
  sink: KeepingSink,
  files: readonly (readonly string[])[],
  every: SnapshotPace = 'change',
): Promise<void> {
  for (const lines of files) await codec.read(fileOf(lines), sink);
  codec.finish?.(sink);
  sink.settle(every);
}
