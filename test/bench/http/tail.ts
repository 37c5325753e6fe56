import { temporaryDirectory } from '../../support/archive.ts';
import { type Spread, spreadOf } from '../rounds.ts';
import { startBookreel } from './bookreel.ts';
import type { HttpCorpus } from './corpus.ts';
import { writeRequests } from './trial.ts';
import { type Counted, runWrk } from './wrk.ts';

const ROUNDS = 5;
const PEAK_SECONDS = 2;
const PEAK_CONNECTIONS = 16;
const PACED_SECONDS = 4;
/** So many that what arrives while the server is busy has a connection of its own. */
const PACED_CONNECTIONS = 256;
const SHARE_OF_PEAK = 0.7;
const SHARE_TOLERANCE = 0.05;

/** Latency of a kind of request while the server is busy but not full. */
export interface Tail {
  readonly kind: string;
  readonly peak: Spread;
  readonly requestsPerSecond: Spread;
  /** Of the peak, by medians. */
  readonly share: number;
  /** Whether that share is the one that was wanted. */
  readonly isAsPaced: boolean;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  readonly p999Ms: Spread;
}

/** The peak of the first kind of request and its latency at 70 % of that, in turns. */
export async function measureTail(corpus: HttpCorpus): Promise<Tail> {
  using directory = temporaryDirectory();
  await using bookreel = await startBookreel(corpus);
  const kind = corpus.kinds[0]!;
  const asks = kind.paths.map((_, index) => bookreel.ask(kind, index));
  const requests = await writeRequests(directory.path, { name: kind.name, origin: bookreel.origin, asks });
  const load = { origin: bookreel.origin, requests, first: 0 };
  const full = { ...load, seconds: PEAK_SECONDS, connections: PEAK_CONNECTIONS };
  await runWrk(full);
  const peaks: number[] = [];
  const paced: Counted[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    peaks.push((await runWrk(full)).requestsPerSecond);
    const requestsPerSecond = SHARE_OF_PEAK * spreadOf(peaks).median;
    paced.push(await runWrk({ ...load, seconds: PACED_SECONDS, connections: PACED_CONNECTIONS, requestsPerSecond }));
  }
  const spread = (value: (counted: Counted) => number) => spreadOf(paced.map(value));
  const peak = spreadOf(peaks);
  const requestsPerSecond = spread((counted) => counted.requestsPerSecond);
  const share = requestsPerSecond.median / peak.median;
  return {
    kind: kind.name,
    peak,
    requestsPerSecond,
    share,
    isAsPaced: Math.abs(share - SHARE_OF_PEAK) <= SHARE_TOLERANCE,
    p50Ms: spread(({ latencyMs }) => latencyMs.p50),
    p99Ms: spread(({ latencyMs }) => latencyMs.p99),
    p999Ms: spread(({ latencyMs }) => latencyMs.p999),
  };
}
