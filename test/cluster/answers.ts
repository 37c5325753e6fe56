import { createHash } from 'node:crypto';
import { randomsOf } from '../support/random-books.ts';

/** The parts of an answer in which all answers of one question are the same. */
export interface Answered {
  readonly status: number;
  readonly digest: string;
  readonly bytes: number;
  readonly tag: string | null;
  readonly type: string | null;
  /** Names of headers, without those that proxies add. */
  readonly headers: string;
  readonly limit: string | null;
}

/** A request for data of an archive. */
export interface Question {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Differ from one answer to the next of the same service, or between one with and one without a body of known length. */
const PASSING_HEADERS = new Set(['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding']);
const ASK_WITHIN_MS = 30_000;
const PAUSE_MS = 200;
const TRIES_MAX = 200;

export async function ask(origin: string, key: string, { path, headers }: Question): Promise<Response> {
  return await fetch(`${origin}${path}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
    signal: AbortSignal.timeout(ASK_WITHIN_MS),
    redirect: 'manual',
  });
}

/**
 * The answer to a question that is asked again while it is 503, or has no answer: a busy machine may have no time for a file, or for home, within a
 * second. `onBusy` is called each time.
 */
export async function askPatiently(
  origin: string,
  key: string,
  question: Question,
  onBusy: () => void = () => undefined,
): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    const answer = await ask(origin, key, question).catch(isLate);
    if (answer !== undefined && (answer.status !== 503 || tries === TRIES_MAX)) return answer;
    await answer?.arrayBuffer();
    onBusy();
    await Bun.sleep(PAUSE_MS);
  }
}

/** Rethrows an error that is not of a machine that has no time for a request. */
function isLate(error: Error): undefined {
  if (error.name !== 'TimeoutError') throw error;
}

export async function answered(response: Response): Promise<Answered> {
  const bytes = await response.bytes();
  const text = response.headers.get('content-type')?.includes('problem') === true ? Buffer.from(bytes).toString() : '';
  // The id of a request is its own, and a refusal names it.
  const body = text === '' ? bytes : text.replace(/"(?:instance|requestId)":"[^"]*"/g, '');
  return {
    status: response.status,
    digest: createHash('sha256').update(body).digest('hex'),
    bytes: bytes.length,
    tag: response.headers.get('etag'),
    type: response.headers.get('content-type'),
    headers: [...response.headers.keys()].filter((name) => !PASSING_HEADERS.has(name)).join(),
    limit: response.headers.get('x-ratelimit-limit'),
  };
}

/** A market that questions are about: its window in milliseconds. */
export interface AskedMarket {
  readonly symbol: string;
  readonly conditionId: string;
  readonly startMs: number;
  readonly endMs: number;
}

const KINDS = ['snapshots', 'quotes', 'prices'] as const;
const TYPES = ['application/json', 'application/msgpack', 'application/x-msgpack'] as const;

/** Random questions about markets: pages of each kind, instants, heat maps, coverage, exports, lists, and mistakes. The same seed asks the same. */
export function* questionsAbout(markets: readonly AskedMarket[], seed: number): Generator<Question> {
  const random = randomsOf(seed);
  const upTo = (count: number) => Math.floor(random() * count);
  const one = <T>(items: readonly T[]): T => items[upTo(items.length)]!;
  const maybe = (text: () => string) => (random() < 0.4 ? text() : '');
  for (;;) {
    const { symbol, conditionId, startMs, endMs } = one(markets);
    const market = `/v1/${symbol}/markets/${conditionId}`;
    const instant = () => startMs - 5000 + upTo(endMs - startMs + 10_000);
    const outcome = () => `&outcome=${one(['up', 'down'])}`;
    const range = () => {
      const [from, to] = [instant(), instant()].toSorted((a, b) => a - b);
      return `&from=${from}&to=${to}`;
    };
    const page = () => {
      const kind = one(KINDS);
      const depth = kind === 'snapshots' ? maybe(() => `&depth=${1 + upTo(8)}`) : '';
      const rest = [maybe(range), maybe(outcome), depth, maybe(() => '&order=desc'), maybe(() => '&interval=1s')];
      return `${market}/${kind}?limit=${1 + upTo(200)}${rest.join('')}`;
    };
    const path = one([
      page,
      page,
      page,
      () => `${market}/snapshots/at/${instant()}?mode=${one(['nearest', 'before', 'after'])}${maybe(outcome)}`,
      () => `${market}/snapshots/at?ts=${instant()},${instant()},${instant()}`,
      () => `${market}/heatmap?columns=${1 + upTo(60)}${maybe(outcome)}`,
      () => `${market}/coverage`,
      () => market,
      () => `${market}?asOf=${instant()}`,
      () => `/v1/${symbol}/midpoints?markets=${conditionId},${one(markets).conditionId}&points=${1 + upTo(40)}`,
      () => `/v1/${symbol}/markets?limit=${1 + upTo(40)}&skip=${upTo(20)}${maybe(() => '&sort=-snapshots')}`,
      () => `/v1/${symbol}/markets?search=${conditionId.slice(0, 2 + upTo(12))}`,
      () => `${market}/export?format=${one(['ndjson', 'csv', 'parquet'])}${maybe(outcome)}`,
      () =>
        one([`${market}/snapshots?limit=0`, `${market}/nothing`, `/v1/${symbol}/markets/0xno`, '/v1/nocoin/markets']),
    ])();
    yield random() < 0.15 ? { path, headers: { accept: one(TYPES) } } : { path };
  }
}

/** Latencies in milliseconds, sorted, with the share of them that is at most each. */
export function percentile(sortedMs: readonly number[], share: number): number {
  return sortedMs[Math.min(sortedMs.length - 1, Math.floor(sortedMs.length * share))] ?? Number.NaN;
}
