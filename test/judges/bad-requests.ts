import { AMPLE_RPM } from '../contract/target.ts';
import { type BadRequest, badRequest, type Vocabulary } from './bad-request.ts';
import { type Answer, PipelinedAnswers } from './pipelined-answers.ts';
import { type SeededServer, startSeededServer } from './seeded-server.ts';
import type { Verdict } from './verdict.ts';

const CONNECTIONS = 8;
/** Requests per connection, sent at once. */
const BATCH = 40;
/** Time for the answer to a malformed message that has no end. */
const GRACE_MS = 30;
/** Longest wait for an answer. */
const SILENCE_MS = 20_000;
/** Maximum memory of the process at the end, independent of the number of requests. */
const RESIDENT_BYTES_MAX = 512 * 1024 * 1024;
const FAILURES_MAX = 20;
/** The HTTP parser's own answer to an unsupported version; the service does not see the request (RFC 9110, 15.6.6). */
const UNSPOKEN_VERSION = 'HTTP/1.1 505 HTTP Version Not Supported\r\nConnection: close\r\n';
/**
 * Expected lines of the log: an empty one, a request (JSON), the last message, and that this program did not read fast enough. Every other
 * line is a fault or its stack.
 */
const EXPECTED_LINE = /^$|^\{"time":"[^"]+","level":(?:"info",|"warn","dropped":\d+,)/;
/** Internals that no answer may contain. */
const INTERNAL = /sqlite|node_modules|bunfs|\/tmp\/|\bat \S+ \(|typebox|elysia|TypeError|RangeError/i;

interface Tally {
  refused: number;
  closed: number;
  accepted: number;
  readonly statuses: Map<number, number>;
  readonly failures: string[];
}

/**
 * Sends at least `wanted` requests that the service refuses, generated from `seed`. Requires that no answer is a 5xx, that every
 * request is answered, that the process continues within its memory, answers as before, and logs no fault. Requests that the
 * service accepts are checked too, but not counted.
 */
export async function judgeByBadRequests(wanted: number, seed: number): Promise<Verdict> {
  const startedMs = performance.now();
  await using server = await startSeededServer({ args: ['--trusted-proxies', 'loopback', '--access-log', 'on'] });
  const words = await vocabularyOf(server);
  const probe = () => pageOf(server, words);
  const before = await probe();
  const atStart = server.residentBytes();
  const tally: Tally = { refused: 0, closed: 0, accepted: 0, statuses: new Map(), failures: [] };
  let next = 0;
  const goesOn = () =>
    tally.refused < wanted && tally.failures.length < FAILURES_MAX && server.child.code === undefined;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (goesOn()) {
        const batch: BadRequest[] = [];
        // A malformed message comes last, because the server does not read further.
        while (batch.length < BATCH && batch.at(-1)?.isMessage !== false) batch.push(badRequest(seed, next++, words));
        await send(server, batch, next - batch.length, tally);
      }
    }),
  );
  const residentBytes = server.residentBytes();
  const { failures } = tally;
  if (server.child.code !== undefined) failures.push(`the process ended with ${server.child.code}`);
  else if ((await probe()) !== before) failures.push('the same request gets another answer than before');
  if (residentBytes > RESIDENT_BYTES_MAX) failures.push(`${megabytes(residentBytes)} resident at the end`);
  server.child.kill('SIGTERM');
  const code = await server.child.exited;
  if (code !== 0) failures.push(`SIGTERM ended the process with ${code}`);
  failures.push(...faultsLogged(server, words));
  const statuses = [...tally.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
  return {
    judge: 'bad requests',
    checks: `${tally.refused} refused (${tally.closed} by closing), ${tally.accepted} harmless`,
    failures: failures.map((failure) => `${failure} (SEED=${seed})`),
    notes: `seed ${seed}; ${statuses.join(', ')}; RSS ${megabytes(atStart)} to ${megabytes(residentBytes)} of ${megabytes(RESIDENT_BYTES_MAX)}`,
    seconds: (performance.now() - startedMs) / 1000,
  };
}

async function vocabularyOf(server: SeededServer): Promise<Vocabulary> {
  const ample = await server.makeKey('enterprise', AMPLE_RPM);
  const free = await server.makeKey('free', AMPLE_RPM);
  const revoked = await server.makeKey('pro');
  await server.revokeKey(revoked.id);
  const get = async <T>(path: string) => {
    const response = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${ample.key}` } });
    return (await response.json()) as T;
  };
  const { data } = await get<{ data: { conditionId: string; slug: string; startTime: string }[] }>('/v1/btc/markets');
  const recorded = data.at(-1)!;
  const series = ['snapshots', 'quotes', 'prices'].map((kind) => `/v1/btc/markets/${recorded.conditionId}/${kind}`);
  const cursors = await Promise.all(
    [...series, '/v1/btc/prices'].map(
      async (path) => (await get<{ nextCursor: string }>(`${path}?limit=2`)).nextCursor,
    ),
  );
  return {
    conditionIds: data.map(({ conditionId }) => conditionId),
    slugs: data.map(({ slug }) => slug),
    atMs: Date.parse(recorded.startTime),
    cursors,
    keys: [ample.key, free.key, revoked.key],
  };
}

async function pageOf({ origin }: SeededServer, { conditionIds, keys }: Vocabulary): Promise<string> {
  const headers = { authorization: `Bearer ${keys[0]}` };
  const response = await fetch(`${origin}/v1/btc/markets/${conditionIds.at(-1)}/snapshots?limit=50`, { headers });
  return `${response.status} ${await response.text()}`;
}

/** Sends a batch on a new connection, and waits for all answers. */
async function send({ port }: SeededServer, batch: readonly BadRequest[], first: number, tally: Tally): Promise<void> {
  const answers = new PipelinedAnswers((index) => batch[index]?.method ?? 'GET');
  const name = (index: number) => `request ${first + index} (${batch[index]?.flaws.join(', ')})`;
  const lastIsBroken = batch.at(-1)?.isMessage === false;
  const { promise: ended, resolve: end } = Promise.withResolvers<string | undefined>();
  const messages = lastIsBroken ? batch.length - 1 : batch.length;
  const bytesOf = (part: readonly BadRequest[]) => Buffer.from(part.map(({ bytes }) => bytes).join(''), 'latin1');
  let unsent = bytesOf(batch.slice(0, messages));
  // Sent after all other answers, so that it alone can affect the connection.
  let broken = bytesOf(batch.slice(messages));
  let grace: ReturnType<typeof setTimeout> | undefined;
  const timer = setTimeout(() => end(`no answer for ${SILENCE_MS} ms`), SILENCE_MS);
  const goOn = (socket: Bun.Socket) => {
    if (answers.count >= batch.length) socket.end();
    if (answers.count === messages && unsent.length === 0) [unsent, broken] = [broken, unsent];
    if (unsent.length > 0) unsent = unsent.subarray(socket.write(unsent));
    // Only this ends a message that was cut off.
    if (answers.count === messages && unsent.length === 0) grace ??= setTimeout(() => socket.end(), GRACE_MS);
  };
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: goOn,
      drain: goOn,
      data(socket, data) {
        try {
          for (const answer of answers.push(data.toString('latin1'))) judge(answer, answers, name, tally);
        } catch (error) {
          end(String(error));
        }
        timer.refresh();
        goOn(socket);
      },
      close: () => end(undefined),
      error: () => end(undefined),
      connectError: (_, error) => end(`no connection: ${error.message}`),
    },
  });
  const trouble = await ended;
  clearTimeout(timer);
  clearTimeout(grace);
  socket.terminate();
  if (trouble !== undefined) tally.failures.push(`${name(answers.count)}: ${trouble}`);
  else if (answers.count < messages) tally.failures.push(`${name(answers.count)} was not answered`);
  else if (answers.count < batch.length) {
    tally.refused += 1;
    tally.closed += 1;
  }
}

function judge(answer: Answer, answers: PipelinedAnswers, name: (index: number) => string, tally: Tally): void {
  const { status, head, body } = answer;
  tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
  const isOfParser = head === UNSPOKEN_VERSION && body === '';
  if (isOfParser || (status >= 400 && status < 500)) tally.refused += 1;
  else tally.accepted += 1;
  const wrong = (what: string) =>
    tally.failures.push(`${name(answers.count - 1)}: ${what}: ${JSON.stringify(head + body.slice(0, 300))}`);
  if (status >= 500 && !isOfParser) wrong('a fault');
  if (status < 400 || body === '') return;
  if (!/\r\ncontent-type: application\/problem\+json\r\n/i.test(head)) wrong('no problem document');
  if (INTERNAL.test(body)) wrong('internals');
}

/** Lines of the log that report a fault, and keys in the log. */
function faultsLogged({ child }: SeededServer, { keys }: Vocabulary): string[] {
  const log = child.stderr();
  const faults = log.split('\n').filter((line) => !EXPECTED_LINE.test(line));
  const leaked = keys.filter((key) => log.includes(key) || child.stdout().includes(key));
  return [
    ...faults.slice(0, 5).map((line) => `logged: ${line.slice(0, 300)}`),
    ...leaked.map(() => 'a key is in the log'),
  ];
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`;
}
