import { HEAT_MAP_COLUMNS_MAX } from '../../src/domain/heat-map.ts';
import type { OrderBook } from '../../src/domain/orderbook.ts';
import type { BookRecord } from '../../src/segment/book-format.ts';
import type { Archive } from '../../src/store/archive.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';
import { randomsOf } from '../support/random-books.ts';
import { type Service, serviceOf } from '../support/service.ts';
import { figure, type Section, shown, table } from './report.ts';
import { type Spread, spreadOf } from './rounds.ts';

const ROUNDS = 5;
const DAY_MS = 86_400_000;
const BATCH = 20_000;
const HELD_MS_MAX = 50;
const FORMS = ['json identity', 'json zstd', 'json gzip', 'msgpack identity'] as const;

interface Recording {
  readonly name: string;
  readonly snapshots: number;
  /** Per side. */
  readonly levels: number;
  /** 1 / tick. */
  readonly ticks: number;
  /** Levels that change from one snapshot to the next. */
  readonly changes: number;
}

export const MILLION = {
  name: 'a day of a million snapshots',
  snapshots: 1_000_000,
  levels: 48,
  ticks: 100,
  changes: 4,
};
const RECORDINGS: readonly Recording[] = [
  MILLION,
  { name: '2 × 499 levels, all changing', snapshots: 3000, levels: 499, ticks: 1000, changes: 499 },
  { name: '2 × 5000 levels, all changing', snapshots: 1500, levels: 5000, ticks: 10_000, changes: 5000 },
];

export interface HeatMapFigures {
  readonly recording: string;
  readonly window: string;
  readonly form: string;
  readonly bytes: number;
  readonly ms: Spread;
  /** The longest work between two turns of the event loop, in processor time: other load on the machine does not count. */
  readonly heldMs: Spread;
}

/** Measures heat maps of a day and of a part of it, of 1500 columns, as fast as one client asks for them. */
export async function measureHeatMaps(say: (line: string) => void): Promise<HeatMapFigures[]> {
  const figures: HeatMapFigures[] = [];
  for (const recording of RECORDINGS) {
    using held = temporaryArchive();
    const path = addDay(held.archive, recording);
    const service = serviceOf(held.archive);
    for (const [window, parts] of [
      ['all', 1],
      ['a hundredth', 100],
    ] as const) {
      for (const form of FORMS) {
        const measured = await measureForm(service, path, form, Math.floor(DAY_MS / parts));
        figures.push({ recording: recording.name, window, form, ...measured });
        say(`  ${recording.name}, ${window}, ${form}: ${shown(measured.ms)} ms, held ${shown(measured.heldMs)} ms`);
      }
    }
  }
  return figures;
}

async function measureForm(service: Service, path: string, form: string, lengthMs: number) {
  const [format, encoding] = form.split(' ');
  const headers = {
    authorization: `Bearer ${service.key}`,
    accept: `application/${format}`,
    'accept-encoding': encoding!,
  };
  const { startMs } = marketStatement(0);
  const ms: number[] = [];
  const heldMs: number[] = [];
  let bytes = 0;
  for (let round = -1; round < ROUNDS; round += 1) {
    // Another window each time, so that nothing is cached.
    const from = startMs + round + 1;
    const url = `http://localhost/v1${path}?from=${from}&to=${from + lengthMs}&columns=${HEAT_MAP_COLUMNS_MAX}`;
    const taken = await watched(async () => {
      const answer = await service.app.handle(new Request(url, { headers }));
      if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
      bytes = (await answer.arrayBuffer()).byteLength;
    });
    if (round < 0) continue;
    ms.push(taken.ms);
    heldMs.push(taken.heldMs);
  }
  return { bytes, ms: spreadOf(ms), heldMs: spreadOf(heldMs) };
}

/** The time of `work`, and the most processor time of this thread between two turns of the event loop meanwhile. */
async function watched(work: () => Promise<void>): Promise<{ ms: number; heldMs: number }> {
  Bun.gc(true);
  let isDone = false;
  let heldMs = 0;
  const startedMs = performance.now();
  let turnMs = workedMs();
  const turn = () => {
    const nowMs = workedMs();
    heldMs = Math.max(heldMs, nowMs - turnMs);
    turnMs = nowMs;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  const ms = performance.now() - startedMs;
  isDone = true;
  turn();
  return { ms, heldMs };
}

/** Processor time of this thread so far. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Adds a market with a day of snapshots of up; returns the path of its heat map. */
export function addDay({ database, markets, snapshots }: Archive, recording: Recording): string {
  const statement = marketStatement(0);
  const books = changingBooks(recording);
  const stepMs = DAY_MS / recording.snapshots;
  for (let from = 0; from < recording.snapshots; from += BATCH) {
    const records: BookRecord[] = [];
    for (let nth = from; nth < Math.min(from + BATCH, recording.snapshots); nth += 1) {
      records.push({ timestampMs: statement.startMs + Math.floor(nth * stepMs), id: nth + 1, book: books() });
    }
    database.write(() => {
      const { market } = markets.put(statement, NOW_MS);
      snapshots.add(market, 'up', records);
      markets.touch(market.key);
    });
  }
  return `/${statement.symbol}/markets/${statement.conditionId}/heatmap`;
}

/** Books of full sides around a half, each with some other sizes than the one before. */
function changingBooks({ levels, ticks, changes }: Recording): () => OrderBook {
  const random = randomsOf(levels);
  const bidPrices = Array.from({ length: levels }, (_, level) => (ticks / 2 - 1 - level) / ticks).filter(
    (at) => at >= 0,
  );
  const askPrices = Array.from({ length: levels }, (_, level) => (ticks / 2 + 1 + level) / ticks).filter(
    (at) => at <= 1,
  );
  const size = () => Math.ceil(random() * 1e8) / 1e4;
  let [bidSizes, askSizes] = [bidPrices.map(size), askPrices.map(size)];
  const changed = (sizes: readonly number[]) => {
    const all = [...sizes];
    for (let i = 0; i < changes / 2; i += 1) all[Math.floor(random() * all.length)] = size();
    return all;
  };
  return () => {
    [bidSizes, askSizes] = [changed(bidSizes), changed(askSizes)];
    return { bidPrices, bidSizes, askPrices, askSizes };
  };
}

export function heatMapSection(measured: readonly HeatMapFigures[]): Section {
  const rows = measured.map(({ recording, window, form, bytes, ms, heldMs }) => [
    recording,
    window,
    form,
    figure(bytes / 1e6),
    shown(ms),
    shown(heldMs),
  ]);
  const worst = Math.max(...measured.map(({ heldMs }) => heldMs.median));
  return {
    text: `## Heat maps

Of ${HEAT_MAP_COLUMNS_MAX} columns, in process, the whole request. Held is the most work of one answer between two turns of the
event loop, in processor time of its thread.

${table(['recording', 'window', 'form', 'MB', 'ms', 'held, ms'], rows)}`,
    goals: [
      {
        figure: 'the longest that a heat map keeps others waiting',
        required: `≤ ${HELD_MS_MAX} ms`,
        measured: `${figure(worst)} ms`,
        met: worst <= HELD_MS_MAX,
      },
    ],
  };
}
