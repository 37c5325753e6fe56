/** When the markets of the corpus begin; every case has a stretch of time of its own behind it. */
export const HOSTILE_START_MS = Date.UTC(2026, 3, 16);
const CASE_MS = 50_000;

/** A record as an export writes it, without its id. */
export type KeptRecord = Readonly<Record<string, unknown>>;

/** One hostile file and what must become of it. */
export interface HostileCase {
  /** What is wrong with it, as a name of its directory. */
  readonly title: string;
  /** The file's own name. */
  readonly file: string;
  readonly bytes: Uint8Array;
  /** What is stored of it: all of these, how many records, or a beginning of these where it is damaged. */
  readonly kept: readonly KeptRecord[] | number | { readonly beginningOf: readonly KeptRecord[] } | 'any';
  /** How many of its units are rejected, each with its reason. */
  readonly rejected: number | 'some' | 'any';
  /** Whether it is not read to its end, or not at all; 'any' where that depends on the damage. */
  readonly damaged: boolean | 'any';
}

/** A case that waits for its number: its records lie in the stretch of time that the number gives it. */
export type CaseMaker = (startMs: number) => HostileCase;

/** A price of a coin, `offsetMs` into the case's own time. */
export function goodRecord(startMs: number, offsetMs: number): KeptRecord {
  return {
    type: 'coinPrice',
    symbol: 'btc',
    source: 'hostile',
    timestamp: new Date(startMs + offsetMs).toISOString(),
    price: 70_000 + offsetMs / 8,
  };
}

/** Lines of the own format that cannot be kept, between two that can. */
export function badLines(title: string, lines: readonly (string | Uint8Array)[], file = 'bad.ndjson'): CaseMaker {
  return (startMs) => {
    const kept = [goodRecord(startMs, 1), goodRecord(startMs, 2)];
    const [first, last] = kept.map((record) => JSON.stringify(record));
    return { title, file, bytes: joined([first!, ...lines, last!]), kept, rejected: lines.length, damaged: false };
  };
}

/** Lines that look bad and are none. */
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

/** A file that says what is expected of it by itself. */
export function wholeFile(
  title: string,
  file: string,
  bytes: string | Uint8Array,
  expected: Partial<Pick<HostileCase, 'kept' | 'rejected' | 'damaged'>> = {},
): CaseMaker {
  return () => ({ title, file, bytes: bytesOf(bytes), kept: 0, rejected: 'any', damaged: false, ...expected });
}

/** The cases with their numbers given out: each has 50 s of time to itself. */
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
