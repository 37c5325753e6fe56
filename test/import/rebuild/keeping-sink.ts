import { DomainError } from '../../../src/domain/errors.ts';
import type { Codec } from '../../../src/import/codec.ts';
import { KnownMarkets } from '../../../src/import/known-markets.ts';
import type { RecordSink, SourceItem } from '../../../src/import/record-sink.ts';
import type { RecordingFile } from '../../../src/import/recording-file.ts';
import { Sample } from '../../../src/import/sample.ts';
import type { RecordedItem } from '../../../src/record/record.ts';
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

  constructor(archive: Archive) {
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

  contradict(item: KeptItem): void {
    this.finish(item);
  }

  correct(): void {}

  cover(): void {}

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

/** Reads files of these lines one after the other, then finishes the codec. */
export async function readAll(codec: Codec, sink: RecordSink, ...files: (readonly string[])[]): Promise<void> {
  for (const lines of files) await codec.read(fileOf(lines), sink);
  codec.finish?.(sink);
}
