// Prints 'timestamp id' of every snapshot of a market: BOOKREEL_KEY=br_live_… bun walk.ts btc SLUG [RECORDS-IN-A-PAGE]
// Node 22.18 and later run this file directly. /openapi.json describes every field.
export {};

interface Snapshot {
  readonly id: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly timestamp: string;
  readonly outcome: 'up' | 'down';
  /** The best price comes first. */
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

interface Level {
  readonly price: number;
  readonly size: number;
}

interface SnapshotPage {
  readonly data: readonly Snapshot[];
  readonly nextCursor: string | null;
}

interface Problem {
  readonly detail: string;
}

interface Query {
  readonly limit: number;
  cursor?: string;
}

const { BOOKREEL_URL = 'http://127.0.0.1:8080', BOOKREEL_KEY } = process.env;
const TRIES_MAX = 5;
const BACKOFF_MAX_SECONDS = 30;
const RETRIED = [429, 502, 503, 504];

/** Before each retry it waits for Retry-After, plus a random part of a backoff that doubles each time. */
async function get<Answer>(path: string, query: Query): Promise<Answer> {
  const url = new URL(BOOKREEL_URL + path);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  for (let tries = 1; ; tries += 1) {
    let retryAfterSeconds = 0;
    let reason: string;
    try {
      const headers = { authorization: `Bearer ${BOOKREEL_KEY}` };
      const answer = await fetch(url, { headers, signal: AbortSignal.timeout(60_000) });
      if (answer.ok) return (await answer.json()) as Answer;
      reason = `${answer.status}: ${await detailOf(answer)}`;
      if (!RETRIED.includes(answer.status)) throw new Refused(reason);
      retryAfterSeconds = Number(/^\d+$/.exec(answer.headers.get('retry-after') ?? '')?.[0] ?? 0);
    } catch (error) {
      if (error instanceof Refused) throw error;
      reason = `broken connection: ${error instanceof Error ? error.message : error}`;
    }
    if (tries === TRIES_MAX) throw new Refused(reason);
    const backoffSeconds = Math.random() * Math.min(BACKOFF_MAX_SECONDS, 2 ** (tries - 1));
    await new Promise((resolve) => setTimeout(resolve, (retryAfterSeconds + backoffSeconds) * 1000));
  }
}

/** An error that a retry cannot solve. */
class Refused extends Error {}

async function detailOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return (JSON.parse(text) as Problem).detail;
  } catch {
    // Not problem+json: the answer of a proxy.
    return answer.statusText;
  }
}

async function* snapshots(coin: string, market: string, limit = 1000): AsyncGenerator<Snapshot> {
  const query: Query = { limit };
  for (;;) {
    const page = await get<SnapshotPage>(`/v1/${coin}/markets/${market}/snapshots`, query);
    yield* page.data;
    if (page.nextCursor === null) return;
    query.cursor = page.nextCursor;
  }
}

try {
  const [coin, market, limit] = process.argv.slice(2);
  if (!BOOKREEL_KEY || coin === undefined || market === undefined)
    throw new Refused('set BOOKREEL_KEY, name coin and market');
  for await (const { timestamp, id } of snapshots(coin, market, limit === undefined ? undefined : Number(limit))) {
    console.log(timestamp, id);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
