import { expect, test } from 'bun:test';
import { createApp } from '../../src/http/app.ts';
import { importPaths, NOW_MS, temporaryArchive } from '../support/archive.ts';
import { IS_FULL, sized } from '../support/campaign-size.ts';
import { randomsOf } from '../support/random-books.ts';
import { KINDS_OF_BOOKS, REAL_BOOKS, realBooksOf, realRecording } from '../support/real-recordings.ts';
import { serviceOf } from '../support/service.ts';

const RECORDINGS: readonly (readonly [name: string, paths: string | readonly string[] | undefined])[] = [
  ['books-5m-parquet', IS_FULL ? REAL_BOOKS : realBooksOf(...KINDS_OF_BOOKS)],
  ['ws-capture-5m', realRecording('ws-capture-5m')],
  ['sessions-15m', realRecording('sessions-15m')],
  ['snapshots-1s', realRecording('snapshots-1s')],
];
/** Requests per recording. */
const PAIRS = sized(500, 2500);
/** Instants of one market and one `asOf`, requested one by one and as a list. */
const PAIRS_AT_ONCE = 25;
const MODES = ['nearest', 'before', 'after'] as const;
const OUTCOMES = ['up', 'down'] as const;
/** The last instant of a list, and the last of a path. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const BEYOND_MS = Number.MAX_SAFE_INTEGER;
const LISTED_AHEAD_MS_MAX = 7 * 86_400_000;

type Mode = (typeof MODES)[number];
type Outcome = (typeof OUTCOMES)[number];

interface Wire {
  readonly id: string;
  readonly outcome: Outcome;
  readonly timestamp: string;
}

/** A snapshot of a page. */
interface Paged {
  readonly id: number;
  readonly ms: number;
  /** Digest of the whole snapshot. */
  readonly digest: string;
}

interface RecordedMarket {
  readonly path: string;
  /** The first time at which the market is known. */
  readonly listedMs: number;
  /** Ascending by (timestamp, id). */
  readonly snapshots: Readonly<Record<Outcome, readonly Paged[]>>;
  /** The distinct timestamps, ascending. */
  readonly instants: readonly number[];
}

interface Question {
  readonly mode: Mode;
  readonly maxDistanceMs: number | undefined;
  readonly asOfMs: number | undefined;
  readonly outcome: Outcome | undefined;
}

const digestOf = (record: Wire) => `${record.outcome} ${record.id} ${Bun.hash(JSON.stringify(record))}`;

/** The snapshot nearest to an instant, found by a linear scan. */
function scanned(
  records: readonly Paged[],
  atMs: number,
  { mode, maxDistanceMs, asOfMs }: Question,
): Paged | undefined {
  let best: Paged | undefined;
  let bestMs = Infinity;
  for (const record of records) {
    const { ms } = record;
    if (asOfMs !== undefined && ms > asOfMs) continue;
    if (mode === 'before' && ms > atMs) continue;
    if (mode === 'after' && ms < atMs) continue;
    const distanceMs = Math.abs(ms - atMs);
    if (maxDistanceMs !== undefined && distanceMs > maxDistanceMs) continue;
    // At ties the earlier time wins, and within one time the highest id.
    if (distanceMs < bestMs || ms === best?.ms) [best, bestMs] = [record, distanceMs];
  }
  return best;
}

/** The expected response to an instant: the digests of its records, and the distance of the first one. */
function expectedAt({ snapshots }: RecordedMarket, atMs: number, question: Question) {
  const found = OUTCOMES.flatMap((outcome) => {
    if (question.outcome !== undefined && question.outcome !== outcome) return [];
    const record = scanned(snapshots[outcome], atMs, question);
    return record === undefined ? [] : [{ record, distance: Math.abs(record.ms - atMs) }];
  });
  const [up, down] = found;
  // At ties up comes first.
  const sorted = up !== undefined && down !== undefined && down.distance < up.distance ? [down, up] : found;
  return { distance: sorted[0]?.distance ?? null, digests: sorted.map(({ record }) => record.digest) };
}

/** The service over a recording, with and without a clock, and the pages of every market. */
async function recorded(paths: readonly string[]) {
  const place = temporaryArchive();
  const report = await importPaths(place.archive, ...paths);
  if (report.total.stored === 0) throw new Error('nothing was stored');
  const { app: open, key } = serviceOf(place.archive, place.registry);
  let clockMs: number | undefined;
  const clocked = createApp({
    archive: place.archive,
    registry: place.registry,
    version: '0.0.0',
    clocks: () => ({ monotonicMs: performance.now(), wallMs: NOW_MS }),
    isDraining: () => false,
    logError: (line) => expect(line).toBe(''),
    latestInstant: () => clockMs,
  });
  const headers = { authorization: `Bearer ${key}` };
  const ask = async <T>(path: string, latestMs?: number) => {
    clockMs = latestMs;
    const app = latestMs === undefined ? open : clocked;
    const answer = await app.handle(new Request(`http://localhost/v1/${path}`, { headers }));
    return { status: answer.status, body: (await answer.json()) as T };
  };
  const markets: RecordedMarket[] = [];
  for (const coin of ['btc', 'eth', 'sol']) {
    type Listed = { conditionId: string; createdAt: string; startTime: string };
    const { status, body } = await ask<{ data: Listed[] }>(`${coin}/markets?limit=1000`);
    for (const { conditionId, createdAt, startTime } of status === 200 ? body.data : []) {
      const [createdMs, startMs] = [Date.parse(createdAt), Date.parse(startTime)];
      const path = `${coin}/markets/${conditionId}`;
      const snapshots: Record<Outcome, Paged[]> = { up: [], down: [] };
      for (let cursor: string | null = ''; cursor !== null; ) {
        const next: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const page = await ask<{ data: Wire[]; nextCursor: string | null }>(`${path}/snapshots?limit=1000${next}`);
        for (const record of page.body.data) {
          const paged = { id: Number(record.id), ms: Date.parse(record.timestamp), digest: digestOf(record) };
          snapshots[record.outcome].push(paged);
        }
        cursor = page.body.nextCursor;
      }
      for (const outcome of OUTCOMES) snapshots[outcome].sort((a, b) => a.ms - b.ms || a.id - b.id);
      const instants = [...new Set(OUTCOMES.flatMap((outcome) => snapshots[outcome].map(({ ms }) => ms)))];
      instants.sort((a, b) => a - b);
      const knownMs = Math.min(createdMs, instants[0] ?? Infinity);
      const listedMs = Math.min(startMs, Math.max(knownMs, startMs - LISTED_AHEAD_MS_MAX + 1));
      markets.push({ path, listedMs, snapshots, instants });
    }
  }
  return {
    markets: markets.filter(({ instants }) => instants.length > 0),
    ask,
    [Symbol.dispose]: () => place[Symbol.dispose](),
  };
}

/** An instant on, next to or half way between the timestamps of a recording, at its ends, or far from it. */
function someInstant(instants: readonly number[], random: () => number): number {
  const [first, last] = [instants[0]!, instants.at(-1)!];
  const at = Math.floor(random() * instants.length);
  const one = instants[at]!;
  const kind = Math.floor(random() * 10);
  if (kind < 3) return first + Math.floor(random() * (last - first + 1));
  if (kind < 7) return one + kind - 5;
  if (kind === 7) return (random() < 0.5 ? first : last) + Math.floor(random() * 3) - 1;
  if (kind === 8) return Math.floor((one + (instants[at + 1] ?? one)) / 2);
  const far = [0, 1, first - 86_400_000, last + 86_400_000, LAST_MS, BEYOND_MS];
  return far[Math.floor(random() * far.length)]!;
}

/** A maximum distance: none, a small one, or the exact distance of a record, one more or one less. */
function someDistance(instants: readonly number[], atMs: number, random: () => number): number {
  if (random() < 0.3) return [0, 1, 1000, 3_600_000][Math.floor(random() * 4)]!;
  const one = Math.abs(instants[Math.floor(random() * instants.length)]! - atMs);
  return Math.max(0, one + Math.floor(random() * 3) - 1);
}

function queryOf({ mode, maxDistanceMs, outcome }: Question, asOfMs: number | undefined): string {
  const asked = { mode, maxDistance: maxDistanceMs, outcome, asOf: asOfMs };
  const given = Object.entries(asked).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
}

interface Counted {
  pairs: number;
  found: number;
  nothing: number;
  unlisted: number;
}

interface Answered {
  readonly ts: string;
  readonly distance: number | null;
  readonly digests: readonly string[];
}

type Recorded = Awaited<ReturnType<typeof recorded>>;

/** The responses for all instants, in several list requests. */
async function answersAt(
  { ask }: Recorded,
  path: string,
  instants: readonly number[],
  query: string,
  latestMs: number | undefined,
): Promise<Answered[]> {
  type Answers = { data: { ts: string; distance: number | null; data: Wire[] }[]; next: string | null };
  const answers: Answered[] = [];
  while (answers.length < instants.length) {
    const url = `${path}/snapshots/at?ts=${instants.slice(answers.length).join()}&${query}`;
    const { body } = await ask<Answers>(url, latestMs);
    for (const { ts, distance, data } of body.data) answers.push({ ts, distance, digests: data.map(digestOf) });
    if (body.next === null) break;
    expect(Date.parse(body.next)).toBe(instants[answers.length]!);
  }
  return answers;
}

/** Requests each instant alone and all as a list, and compares both with the scan. `byClock`: without asOf, with a clock of the service. */
async function compare(
  place: Recorded,
  market: RecordedMarket,
  instants: readonly number[],
  question: Question,
  byClock: boolean,
  counted: Counted,
): Promise<void> {
  const { path, listedMs } = market;
  const { asOfMs } = question;
  const isListed = asOfMs === undefined || asOfMs >= listedMs;
  const query = queryOf(question, byClock ? undefined : asOfMs);
  const latestMs = byClock ? asOfMs : undefined;
  const expected = instants.map((atMs) => expectedAt(market, atMs, question));
  for (const [i, atMs] of instants.entries()) {
    const url = `${path}/snapshots/at/${atMs}?${query}`;
    const { status, body } = await place.ask<{ data: Wire[] }>(url, latestMs);
    if (!isListed) {
      expect({ url, latestMs, status }).toEqual({ url, latestMs, status: 404 });
      counted.unlisted += 1;
      continue;
    }
    const digests = body.data.map(digestOf);
    const wanted = expected[i]!.digests;
    counted[wanted.length > 0 ? 'found' : 'nothing'] += 1;
    if (String(digests) !== String(wanted)) {
      expect({ url, latestMs, digests }).toEqual({ url, latestMs, digests: wanted });
    }
  }
  if (!isListed) return;
  // A list has only instants that ISO text can express.
  const listed = instants.flatMap((atMs, i) => (atMs > LAST_MS ? [] : [{ atMs, ...expected[i]! }]));
  const all = listed.map(({ atMs }) => atMs);
  expect(await answersAt(place, path, all, query, latestMs)).toEqual(
    listed.map(({ atMs, distance, digests }) => ({ ts: new Date(atMs).toISOString(), distance, digests })),
  );
}

for (const [name, paths] of RECORDINGS) {
  test.skipIf(paths === undefined)(
    `A request with asOf for one market finds it from its first record on, even before it is listed. (${name})`,
    async () => {
      using place = await recorded([paths!].flat());
      const { markets } = place;
      expect(markets.length).toBeGreaterThan(0);
      const random = randomsOf(20_260_416);
      const counted: Counted = { pairs: 0, found: 0, nothing: 0, unlisted: 0 };
      while (counted.pairs < PAIRS) {
        const market = markets[Math.floor(random() * markets.length)]!;
        const heldTo = someInstant(market.instants, random);
        const instants = Array.from({ length: PAIRS_AT_ONCE }, (_, i) =>
          // One in five at or next to the asOf.
          i % 5 === 0 ? Math.min(Math.max(0, heldTo + i / 5 - 2), BEYOND_MS) : someInstant(market.instants, random),
        );
        const outcome = [undefined, ...OUTCOMES][Math.floor(random() * 3)];
        for (const mode of MODES) {
          for (const asOfMs of [undefined, heldTo]) {
            for (const maxDistanceMs of [undefined, someDistance(market.instants, instants[0]!, random)]) {
              const question = { mode, maxDistanceMs, asOfMs, outcome };
              await compare(place, market, instants, question, asOfMs !== undefined && random() < 0.5, counted);
            }
          }
        }
        counted.pairs += instants.length;
      }
      expect(counted.pairs).toBe(PAIRS);
      // Some responses were empty and some were not.
      expect(counted.found).toBeGreaterThan(PAIRS);
      expect(counted.nothing).toBeGreaterThan(0);
    },
    600_000,
  );
}
