import { temporaryDirectory } from '../../support/archive.ts';
import { LeftOut } from '../program.ts';
import { type Spread, spreadOf } from '../rounds.ts';
import { startBookreel } from './bookreel.ts';
import { bodyOf } from './compare.ts';
import type { Contender } from './contender.ts';
import type { HttpCorpus, Kind } from './corpus.ts';
import { startNginx } from './nginx.ts';
import { writeRequests } from './trial.ts';
import { runWrk, type Turn, takeTurn } from './wrk.ts';

const ROUNDS = 9;
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
  /** The p99 of nginx at as many requests a second, with the same bytes as files: the machine's and the load's own part. */
  readonly nginxP99Ms: Spread | undefined;
  readonly turns: number;
  readonly repeats: number;
}

/** The peak of the first kind of request and its latency at 70 % of that, in turns. */
export async function measureTail(corpus: HttpCorpus): Promise<Tail> {
  using directory = temporaryDirectory();
  await using bookreel = await startBookreel(corpus);
  const kind = corpus.kinds[0]!;
  await using running = new AsyncDisposableStack();
  const nginx = await nginxBeside(bookreel, corpus, running);
  const load = await loadOf(bookreel, kind, directory.path);
  const control = nginx === undefined ? undefined : await loadOf(nginx, kind, directory.path);
  const full = { ...load, seconds: PEAK_SECONDS, connections: PEAK_CONNECTIONS };
  await runWrk(full);
  const peaks: number[] = [];
  const paced: Turn[] = [];
  const controls: Turn[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    peaks.push((await takeTurn(full)).requestsPerSecond);
    const requestsPerSecond = SHARE_OF_PEAK * spreadOf(peaks).median;
    const pace = { seconds: PACED_SECONDS, connections: PACED_CONNECTIONS, requestsPerSecond };
    paced.push(await takeTurn({ ...load, ...pace }));
    if (control !== undefined) controls.push(await takeTurn({ ...control, ...pace }));
  }
  const spread = (value: (turn: Turn) => number) => spreadOf(paced.map(value));
  const peak = spreadOf(peaks);
  const requestsPerSecond = spread((turn) => turn.requestsPerSecond);
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
    nginxP99Ms: controls.length === 0 ? undefined : spreadOf(controls.map(({ latencyMs }) => latencyMs.p99)),
    turns: paced.length,
    repeats: paced.reduce((sum, { repeats }) => sum + repeats, 0),
  };
}

/** Undefined where nginx is not installed. */
async function nginxBeside(
  bookreel: Contender,
  corpus: HttpCorpus,
  running: AsyncDisposableStack,
): Promise<Contender | undefined> {
  try {
    return running.use(await startNginx(corpus.kinds.slice(0, 1), (path) => bodyOf(bookreel, corpus, path)));
  } catch (error) {
    if (!(error instanceof LeftOut)) throw error;
    return undefined;
  }
}

async function loadOf({ origin, ask }: Contender, kind: Kind, directory: string) {
  const asks = kind.paths.map((_, index) => ask(kind, index));
  return { origin, requests: await writeRequests(directory, { name: kind.name, origin, asks }), first: 0 };
}
