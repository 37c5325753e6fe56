import { BookReader, bookOf } from '../../src/segment/book-decoder.ts';
import { randomsOf } from '../support/random-books.ts';
import type { Corpus } from './corpus.ts';
import { type Section, shown, table } from './report.ts';
import { percentile, ROUNDS, type Spread, spreadOf } from './rounds.ts';

const LOOKUPS = 2000;
/** Seed of the requested times. */
const SEED = 20_260_416;
const OUTCOMES = ['up', 'down'] as const;

export interface Latency {
  readonly median: Spread;
  readonly p99: Spread;
}

/** Times in the windows of the corpus's markets, the same in every run. */
function randomTargets(corpus: Corpus, count: number) {
  const random = randomsOf(SEED);
  return Array.from({ length: count }, () => {
    const { market } = corpus.large[Math.floor(random() * corpus.large.length)]!;
    return { market, timestampMs: Math.floor(market.startMs + random() * (market.endMs - market.startMs)) };
  });
}

function later({ market, timestampMs }: ReturnType<typeof randomTargets>[number], byMs: number) {
  const atMs = timestampMs + byMs;
  return { market, timestampMs: atMs, path: `/${market.symbol}/markets/${market.conditionId}/snapshots/at/${atMs}` };
}

type Target = ReturnType<typeof later>;

/** Microseconds of one look-up, each timed separately, in interleaved rounds; without `outcome`, so for both outcomes. */
export async function measureNearest(corpus: Corpus): Promise<Map<string, Latency>> {
  const { archive } = corpus.place;
  const targets = randomTargets(corpus, LOOKUPS);
  const find = ({ market, timestampMs }: Target) =>
    archive.database.read(() => OUTCOMES.map((outcome) => archive.snapshots.nearest(market, outcome, timestampMs)));
  const ways: Record<string, (target: Target) => unknown> = {
    'store: find the record': find,
    'store: find it and decode the book': (target) =>
      find(target).map((found) => {
        if (found === undefined) return undefined;
        const reader = new BookReader(found.payload, found.head);
        reader.advanceTo(found.index);
        return bookOf(reader);
      }),
    'the whole request through app.handle': async ({ path }) => await (await corpus.service.get(path)).arrayBuffer(),
  };
  const rounds = new Map(
    Object.keys(ways).map((name): [string, { medians: number[]; p99s: number[] }] => [name, { medians: [], p99s: [] }]),
  );
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [name, way] of Object.entries(ways)) {
      // Other milliseconds in each round, so that no cached answer fits.
      const requested = targets.map((target) => later(target, round + 1));
      const sorted = (await timedEach(requested, way)).sort((a, b) => a - b);
      // Round -1 is the warm-up.
      if (round < 0) continue;
      rounds.get(name)!.medians.push(percentile(sorted, 0.5));
      rounds.get(name)!.p99s.push(percentile(sorted, 0.99));
    }
  }
  return new Map(
    [...rounds].map(([name, { medians, p99s }]) => [name, { median: spreadOf(medians), p99: spreadOf(p99s) }]),
  );
}

export function nearestSection(measured: ReadonlyMap<string, Latency>): Section {
  const rows = [...measured].map(([name, { median, p99 }]) => [name, shown(median), shown(p99)]);
  return {
    text: `## The snapshot nearest to a time, in process

Random times within the windows; without \`outcome\`, so for both outcomes. No time is requested twice.

${table(['what', 'median µs', 'p99 µs'], rows)}`,
  };
}

async function timedEach(targets: readonly Target[], way: (target: Target) => unknown): Promise<number[]> {
  const micros: number[] = [];
  for (const target of targets) {
    const started = Bun.nanoseconds();
    const result = way(target);
    if (result instanceof Promise) await result;
    micros.push((Bun.nanoseconds() - started) / 1000);
  }
  return micros;
}
