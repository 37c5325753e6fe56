import { DomainError } from '../../../src/domain/errors.ts';
import type { Codec, RecordingFile } from '../../../src/import/codec.ts';
import { KnownMarkets } from '../../../src/import/known-markets.ts';
import type { RecordSink, SourceItem } from '../../../src/import/record-sink.ts';
import type { RecordedItem } from '../../../src/record/record.ts';
import type { Archive } from '../../../src/store/archive.ts';

/** A unit and what became of its parts. */
interface KeptUnit extends SourceItem {
  readonly kind: string;
  readonly parts: number;
  added: number;
  settled: number;
  readonly reasons: string[];
}

/** An intake that keeps everything it is given, in order, and stores nothing. */
export class KeepingSink implements RecordSink {
  readonly markets: KnownMarkets;
  readonly units: KeptUnit[] = [];
  readonly items: RecordedItem[] = [];
  readonly ignored: Record<string, number> = {};

  constructor(archive: Archive) {
    this.markets = new KnownMarkets(archive);
  }

  unit(kind: string, line: number, parts = 1): KeptUnit {
    const unit = { kind, line, parts, added: 0, settled: 0, reasons: [] };
    this.units.push(unit);
    return unit;
  }

  add(item: RecordedItem, units: readonly KeptUnit[]): void {
    if (item.type === 'market') this.markets.learn(item.statement);
    this.items.push(item);
    for (const unit of units) unit.added += 1;
  }

  reject(unit: KeptUnit, reason: string): void {
    unit.reasons.push(reason);
  }

  settle(unit: KeptUnit): void {
    unit.settled += 1;
  }

  ignore(kind: string): void {
    this.ignored[kind] = (this.ignored[kind] ?? 0) + 1;
  }

  take(kind: string, line: number, parse: () => readonly RecordedItem[]): void {
    const unit = this.unit(kind, line);
    try {
      const items = parse();
      for (const item of items) this.add(item, []);
      if (items.length > 0) unit.added += 1;
      else unit.settled += 1;
    } catch (error) {
      if (!(error instanceof DomainError) || error.kind !== 'rejected-record') throw error;
      this.reject(unit, error.message);
    }
  }

  itemsOf<Type extends RecordedItem['type']>(type: Type): Extract<RecordedItem, { type: Type }>[] {
    return this.items.filter((item): item is Extract<RecordedItem, { type: Type }> => item.type === type);
  }

  /** Units of which not every part came to an end, or one came to two. */
  openUnits(): KeptUnit[] {
    return this.units.filter((unit) => unit.added + unit.settled + unit.reasons.length !== unit.parts);
  }

  /** How many units of each kind were read, and how many of them rejected. */
  counts(): Record<string, { read: number; rejected: number }> {
    const counts: Record<string, { read: number; rejected: number }> = {};
    for (const { kind, reasons } of this.units) {
      counts[kind] ??= { read: 0, rejected: 0 };
      counts[kind].read += 1;
      if (reasons.length > 0) counts[kind].rejected += 1;
    }
    return counts;
  }

  reasons(): string[] {
    return this.units.flatMap((unit) => unit.reasons);
  }
}

/** A file of these lines that exists nowhere. */
function fileOf(lines: readonly string[]): RecordingFile {
  return {
    path: 'capture.jsonl',
    name: 'capture.jsonl',
    async *bytes() {
      yield new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''));
    },
  };
}

/** Reads files of these lines, one after the other, and ends the import. */
export async function readAll(codec: Codec, intake: RecordSink, ...files: (readonly string[])[]): Promise<void> {
  for (const lines of files) await codec.read(fileOf(lines), intake);
  codec.finish?.(intake);
}
