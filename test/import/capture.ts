import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import { OUTCOMES } from '../../src/domain/outcome.ts';
import type { ImportReport } from '../../src/import/report.ts';
import type { Archive } from '../../src/store/archive.ts';
import { exported } from '../export/exported.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf, marketOf } from '../support/imported.ts';
import { realRecording } from '../support/real-recordings.ts';
import type { Frame } from './rebuild/venue-messages.ts';

/** The folder of a real capture; undefined where it is absent. */
export const CAPTURE = realRecording('ws-capture-5m');

/** Frames as lines, in the order in which a recorder wrote them. */
export type Recording = readonly string[];

/** The frames of the market in the capture that was open, of its first `lengthMs`, and its slug. */
export function capturedMarket(lengthMs = Infinity): { readonly slug: string; readonly frames: Recording } {
  const { slug, conditionId } = JSON.parse(readFileSync(join(CAPTURE!, 'markets.json'), 'utf8')).current;
  const lines = readFileSync(join(CAPTURE!, 'market-ws.jsonl'), 'utf8').trimEnd().split('\n');
  const frames = lines.filter((line) => line.includes(conditionId));
  const endMs = timeOf(frames[0]!) + lengthMs;
  return { slug, frames: frames.filter((frame) => timeOf(frame) < endMs) };
}

/** The last book of each instant of each outcome, by `up 1776808414710`, and the gaps. */
export interface Contents {
  readonly books: ReadonlyMap<string, string>;
  /** Snapshots of all instants: more than `books` if an instant has several. */
  readonly snapshots: number;
  readonly gaps: readonly { readonly fromMs: number; readonly toMs: number; readonly reason: string }[];
  /** An export without the ids and arrivals of records, as sorted lines. */
  readonly exported: readonly string[];
  /** Instants of which no hash proves the book. */
  readonly unproved: ReadonlySet<string>;
  /** The report of the last command. */
  readonly report: ImportReport;
}

/** A command: the recordings of its files, in order. */
export type Command = readonly Recording[];

/** Imports recordings into a new archive, command by command. */
export async function imported(...commands: readonly Command[]): Promise<Contents> {
  using place = temporaryArchive();
  using directory = temporaryDirectory();
  let report: ImportReport | undefined;
  for (const [c, recordings] of commands.entries()) {
    const files = recordings.map((lines, r) => {
      const path = join(directory.path, `${c}-${r}.jsonl`);
      writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
      return path;
    });
    report = await importPaths(place.archive, join(CAPTURE!, 'markets.json'), ...files);
  }
  return { ...(await contentsOf(place.archive)), report: report! };
}

async function contentsOf(archive: Archive): Promise<Omit<Contents, 'report'>> {
  const { slug } = JSON.parse(readFileSync(join(CAPTURE!, 'markets.json'), 'utf8')).current;
  const books = new Map<string, string>();
  const unproved = new Set<string>();
  const market = marketOf(archive, slug);
  let snapshots = 0;
  for (const outcome of OUTCOMES) {
    for (const { timestampMs, isProved } of archive.statements.between(market, outcome, 0, INSTANT_MAX_MS)) {
      if (!isProved) unproved.add(`${outcome} ${timestampMs}`);
    }
    for (const { timestampMs, book } of booksOf(archive, slug, outcome)) {
      snapshots += 1;
      books.set(`${outcome} ${timestampMs}`, JSON.stringify(book));
    }
  }
  const lines = (await exported(archive, 'ndjson')).bytes.toString().trimEnd().split('\n');
  const withoutIds = lines.map((line) => {
    // Arrivals are no part of a record: the import that first stores a book decides them.
    const { id, updatedAt, createdAt, receivedAt, ...record } = JSON.parse(line);
    return JSON.stringify(record);
  });
  return { books, unproved, snapshots, gaps: archive.gaps.list(market.key), exported: withoutIds.sort() };
}

/** Numbers from 0 to 1 by a generator with a seed. */
function randomNumbers(seed: number): () => number {
  let state = (seed + 1) * 2_654_435_761;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A recording that missed a part of the frames of changes. */
export function missing(frames: Recording, part: number, seed: number): string[] {
  const random = randomNumbers(seed);
  return frames.filter((frame) => !frame.includes('"price_change"') || random() >= part);
}

/** A recording without all frames of some times of `lengthMs`. */
export function interrupted(frames: Recording, count: number, lengthMs: number, seed: number): string[] {
  const random = randomNumbers(seed);
  const times = frames.map((frame) => timeOf(frame));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const starts = Array.from({ length: count }, () => first + random() * (last - first));
  return frames.filter((_, at) => !starts.some((start) => start <= times[at]! && times[at]! < start + lengthMs));
}

/** Consecutive parts of a recording. */
export function cut(frames: Recording, parts: number, seed: number): string[][] {
  const random = randomNumbers(seed);
  const cuts = Array.from({ length: parts - 1 }, () => Math.floor(random() * frames.length)).sort((a, b) => a - b);
  return [...cuts, frames.length].map((to, at) => frames.slice(cuts[at - 1] ?? 0, to));
}

/** Recordings as lines of one file, each in its order. */
export function interleaved(recordings: readonly Recording[], seed: number): string[] {
  const random = randomNumbers(seed);
  const next = recordings.map(() => 0);
  const lines: string[] = [];
  for (;;) {
    const open = recordings.flatMap((recording, index) => (next[index]! < recording.length ? [index] : []));
    if (open.length === 0) return lines;
    const index = open[Math.floor(random() * open.length)]!;
    lines.push(recordings[index]![next[index]!]!);
    next[index]! += 1;
  }
}

export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = randomNumbers(seed);
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

function messageOf(frame: string): Frame {
  const { payload } = JSON.parse(frame) as { payload: Frame | readonly Frame[] };
  return (Array.isArray(payload) ? payload[0] : payload) as Frame;
}

function timeOf(frame: string): number {
  return Number(messageOf(frame).timestamp);
}

/** The last book at or before the instant of a name. */
function bookAt({ books }: Contents, name: string): string | undefined {
  const [outcome, ms] = name.split(' ');
  const times = [...books.keys()].flatMap((other) => {
    const [ofOutcome, otherMs] = other.split(' ');
    return ofOutcome === outcome && Number(otherMs) <= Number(ms) ? [Number(otherMs)] : [];
  });
  return books.get(`${outcome} ${Math.max(...times)}`);
}

/** The faults of an archive of recordings, by an oracle made from the raw frames of the perfect one. */
export interface Faults {
  /**
   * Last books of an instant that differ although a recording has all changes of that instant, and no gap covers it. Without those
   * that no hash proves in the perfect recording either: there the order of two changes in a millisecond is that of its frames.
   */
  readonly wrong: readonly string[];
  /** Instants without a book although a recording has all changes of it, which change the book before, and no gap covers it. */
  readonly absent: readonly string[];
  /** Instants with a book at which the perfect recording has none, and that is not the book of then, outside of gaps. */
  readonly extra: readonly string[];
}

/** Compares an archive of `recordings`, all parts of `frames`, with the archive of `frames`. */
export function faultsOf(
  found: Contents,
  perfect: Contents,
  frames: Recording,
  recordings: readonly Recording[],
): Faults {
  const timesOf = (lines: Iterable<string>) => new Set([...lines].map(timeOf));
  const missedByOne = recordings.map((recording) => {
    const recorded = new Set(recording);
    return new Set(frames.filter((frame) => !recorded.has(frame)));
  });
  const missed = missedByOne.reduce((a, b) => a.intersection(b));
  // Where no recording has all changes of an instant, none tells their order.
  const partTimes = missedByOne.map(timesOf).reduce((a, b) => a.intersection(b));
  const recordedTimes = timesOf(frames.filter((frame) => frame.includes('"price_change"') && !missed.has(frame)));
  const isCovered = (name: string) => {
    const [outcome, ms] = name.split(' ');
    return found.gaps.some(
      ({ fromMs, toMs, reason }) => fromMs <= Number(ms) && Number(ms) <= toMs && reason.includes(` of ${outcome} `),
    );
  };
  const timeIn = (name: string) => Number(name.split(' ')[1]);
  const open = (names: readonly string[]) => names.filter((name) => !isCovered(name));
  const [all, stored] = [[...perfect.books.keys()], [...found.books.keys()]];
  return {
    wrong: open(
      stored.filter((name) => perfect.books.has(name) && perfect.books.get(name) !== found.books.get(name)),
    ).filter((name) => !partTimes.has(timeIn(name)) && !perfect.unproved.has(name)),
    absent: open(all.filter((name) => !found.books.has(name) && recordedTimes.has(timeIn(name)))).filter(
      (name) => !partTimes.has(timeIn(name)) && bookAt(found, name) !== perfect.books.get(name),
    ),
    extra: open(stored.filter((name) => !perfect.books.has(name) && !partTimes.has(timeIn(name)))).filter(
      (name) => found.books.get(name) !== bookAt(perfect, name),
    ),
  };
}
