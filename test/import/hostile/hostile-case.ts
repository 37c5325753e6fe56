/** The start of the corpus's markets. Every case has its own range of time after it. */
export const HOSTILE_START_MS = Date.UTC(2026, 3, 16);
const CASE_MS = 50_000;

/** A record as in an export, without its id. */
export type KeptRecord = Readonly<Record<string, unknown>>;

/** A hostile file and its expected result. */
export interface HostileCase {
  /** The fault, which is also the name of its directory. */
  readonly title: string;
  /** The name of the file. */
  readonly file: string;
  readonly bytes: Uint8Array;
  /** Stored records: all of these, their number, or the first of these if the file is damaged. */
  readonly kept: readonly KeptRecord[] | number | { readonly beginningOf: readonly KeptRecord[] } | 'any';
  /** The number of rejected items. */
  readonly rejected: number | 'some' | 'any';
  /** Whether it is not read to its end; 'any' if that depends on the damage. */
  readonly damaged: boolean | 'any';
}

/** Makes a case of a number, which determines the range of time of its records. */
export type CaseMaker = (startMs: number) => HostileCase;

/** A coin price, `offsetMs` after the start of the case's range of time. */
export function goodRecord(startMs: number, offsetMs: number): KeptRecord {
  return {
    type: 'coinPrice',
    symbol: 'btc',
    source: 'hostile',
    timestamp: new Date(startMs + offsetMs).toISOString(),
    price: 70_000 + offsetMs / 8,
  };
}

/** Bad lines of bookreel's own format, between two good ones. */
export function badLines(title: string, lines: readonly (string | Uint8Array)[], file = 'bad.ndjson'): CaseMaker {
  return (startMs) => {
    const kept = [goodRecord(startMs, 1), goodRecord(startMs, 2)];
    const [first, last] = kept.map((record) => JSON.stringify(record));
    return { title, file, bytes: joined([first!, ...lines, last!]), kept, rejected: lines.length, damaged: false };
  };
}

/** Lines that look bad but are good. */
export function oddLines(
  title: string,
  lines: (startMs: number) => readonly (string | Uint8Array)[],
  kept: (startMs: number) => readonly KeptRecord[] = () => [],
): CaseMaker {
  return (startMs) => {
    const around = [goodRecord(startMs, 1), goodRecord(startMs, 40_000)];
    const [first, last] = around.map((record) => JSON.stringify(record));
    return {
      title,
      file: 'odd.ndjson',
      bytes: joined([first!, ...lines(startMs), last!]),
      kept: [around[0]!, ...kept(startMs), around[1]!],
      rejected: 0,
      damaged: false,
    };
  };
}

/** A case with its own expected result. */
export function wholeFile(
  title: string,
  file: string,
  bytes: string | Uint8Array,
  expected: Partial<Pick<HostileCase, 'kept' | 'rejected' | 'damaged'>> = {},
): CaseMaker {
  return () => ({ title, file, bytes: bytesOf(bytes), kept: 0, rejected: 'any', damaged: false, ...expected });
}

/** Numbers the cases. Each has its own range of 50 s. */
export function numbered(makers: readonly CaseMaker[]): HostileCase[] {
  return makers.map((maker, index) => maker(HOSTILE_START_MS + index * CASE_MS));
}

/** The number of the case that a time belongs to. */
export function caseOf(timestampMs: number): number {
  return Math.floor((timestampMs - HOSTILE_START_MS) / CASE_MS);
}

export function joined(lines: readonly (string | Uint8Array)[]): Uint8Array {
  return Buffer.concat(lines.flatMap((line) => [bytesOf(line), Buffer.from('\n')]));
}

export function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content) : content;
}
