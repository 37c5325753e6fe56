import { createKey } from '../../src/account/account-keys.ts';
import type { Challenge } from '../../src/billing/x402.ts';
import { seed } from '../../src/cli/seed.ts';
import { VERSION } from '../../src/cli/version.ts';
import { createApp } from '../../src/http/app.ts';
import { REQUESTS } from '../../src/http/openapi/described.ts';
import { bodyKey, EXAMPLE_LEVELS_MAX, EXAMPLE_LINES_MAX, exampleKey } from '../../src/http/openapi/examples.ts';
import { REFUSALS } from '../../src/http/openapi/refusals.ts';
import type { Json } from '../../src/http/openapi/schema.ts';
import { NETWORK, startAnvil } from '../billing/anvil.ts';
import { PRO_USD, paymentsOn, setPrice } from '../billing/paid-service.ts';
import { signed } from '../billing/payer.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

/** One answer to the request of an example, as a client gets it. */
export interface LiveAnswer {
  readonly status: number;
  readonly request: string;
  /** Without its parameters. */
  readonly type: string;
  readonly body: Json;
}

const TERMINAL = {
  out: () => undefined,
  err: () => undefined,
  write: async () => undefined,
  outIsTerminal: false,
  errIsTerminal: false,
  errColumns: () => 80,
  outColumns: () => 80,
  outHasColour: false,
  errHasColour: false,
  operatingUser: 'operator',
  clock: () => NOW_MS,
};

/** An answer as an example: books and texts are cut. */
export function cut(body: Json): Json {
  if (typeof body === 'string') return body.split('\n').slice(0, EXAMPLE_LINES_MAX).map(cutLine).join('\n');
  if (body === null || typeof body !== 'object') return body;
  if (Array.isArray(body)) return body.map((item: Json) => cut(item));
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const isSide = (name === 'bids' || name === 'asks') && Array.isArray(value);
      return [name, isSide ? value.slice(0, EXAMPLE_LEVELS_MAX) : cut(value)];
    }),
  );
}

function cutLine(line: string): string {
  return line.startsWith('{') ? JSON.stringify(cut(JSON.parse(line) as Json)) : line;
}

/** Answers and bodies by their keys of examples.ts. */
export function recordsOf(answers: readonly LiveAnswer[]): Record<string, Json> {
  const keyOf = ({ status, request }: LiveAnswer) =>
    request.startsWith('body of ') ? request : exampleKey(status, request);
  return Object.fromEntries(answers.map((answer) => [keyOf(answer), cut(answer.body)]));
}

/**
 * Asks the requests of all examples, each of a service in which it gets the status that it is an example of: with the simulated
 * recordings, a clock that is stopped, and keys that may see everything, or little, or nothing.
 */
export async function liveAnswers(): Promise<LiveAnswer[]> {
  using held = temporaryArchive();
  const { archive, registry, activity } = held;
  await seed(TERMINAL, { data: '', diskFloor: { text: '0', bytes: 0 } }, archive);
  await using anvil = await startAnvil(['--timestamp', String(NOW_MS / 1000)]);
  const billing = paymentsOn({ path: held.path, registry, anvil, clock: () => NOW_MS, logError: () => undefined });
  const bodies: LiveAnswer[] = [];
  let isBroken = false;
  const app = createApp({
    archive,
    registry,
    usage: activity.usage,
    billing,
    version: VERSION,
    clocks: () => ({ monotonicMs: 1000, wallMs: NOW_MS }),
    isDraining: () => {
      if (isBroken) throw new Error('a defect');
      return false;
    },
    logError: () => undefined,
  });
  const keyOf = (tier: string, requestsPerMinute?: number) =>
    createKey(registry, NOW_MS, { account: 'test@localhost', name: undefined, tier, requestsPerMinute }).key;
  const [ample, free, small] = [keyOf('enterprise', 1_000_000), keyOf('free', 1_000_000), keyOf('free', 1)];
  const ask = async (status: number, request: string, key?: string): Promise<LiveAnswer> => {
    const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const [path = '', method = 'GET'] = request.split(' ').reverse();
    const paid = method === 'GET' ? undefined : await paying(status, path, headers);
    if (paid?.body !== undefined) bodies.push({ status, request: bodyKey(request), type: '', body: paid.body });
    const init = {
      method,
      headers: { ...headers, ...paid?.headers },
      ...(paid?.body && { body: JSON.stringify(paid.body) }),
    };
    const response = await app.handle(new Request(`http://localhost${path}`, init));
    const type = (response.headers.get('content-type') ?? '').split(';')[0]!;
    const text = await response.text();
    if (response.status !== status) throw new Error(`${request} got ${response.status}, not ${status}: ${text}`);
    return {
      status,
      request,
      type,
      body: type.endsWith('json') && !type.includes('nd') ? (JSON.parse(text) as Json) : text,
    };
  };
  /** The body and the headers of an example request that pays. */
  const paying = async (status: number, path: string, headers: Record<string, string>) => {
    const url = `http://localhost${path}`;
    const nonce: `0x${string}` = `0x${(path.endsWith('settle') ? '1' : '2').repeat(64)}`;
    const validBefore = NOW_MS / 1000 + 300;
    const json = { 'content-type': 'application/json' };
    const quote = { tierId: 'pro', network: NETWORK, tokenSymbol: 'TUSD' };
    if (path.endsWith('/quote')) return { headers: json, body: quote };
    if (path.endsWith('/settle')) {
      const body = JSON.stringify(quote);
      const asked = new Request(url.replace('settle', 'quote'), {
        method: 'POST',
        headers: { ...headers, ...json },
        body,
      });
      const { challenge } = (await (await app.handle(asked)).json()) as { challenge: Challenge };
      return { headers: json, body: { xPaymentHeader: await signed(challenge, { nonce, validBefore }), challenge } };
    }
    if (status !== 200) return { headers: {} };
    const unpaid = await app.handle(new Request(url, { method: 'POST', headers }));
    const challenge = JSON.parse(
      Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString(),
    ) as Challenge;
    return { headers: { 'payment-signature': await signed(challenge, { nonce, validBefore }) } };
  };
  const refused = (status: number) =>
    Object.values(REFUSALS).flatMap((refusal) =>
      refusal.status === status ? Object.values<string>(refusal.examples) : [],
    );

  const answers: LiveAnswer[] = [];
  for (const { hooks, path } of app.routes) {
    // After the catalog was asked for.
    if (path.startsWith('/v1/billing/x402')) setPrice(registry, 'pro', PRO_USD);
    const { [REQUESTS]: requests = {} }: { [REQUESTS]?: Readonly<Record<string, string>> } = hooks.detail;
    for (const request of Object.values(requests)) answers.push(await ask(200, request, ample));
  }
  for (const status of [400, 404])
    for (const request of refused(status)) answers.push(await ask(status, request, ample));
  for (const request of refused(401)) answers.push(await ask(401, request));
  for (const status of [402, 409]) {
    for (const request of refused(status)) answers.push(await ask(status, request, ample));
  }
  for (const request of refused(403)) answers.push(await ask(403, request, free));
  await app.handle(new Request('http://localhost/v1/btc/markets', { headers: { authorization: `Bearer ${small}` } }));
  for (const request of refused(429)) answers.push(await ask(429, request, small));
  isBroken = true;
  for (const request of refused(500)) answers.push(await ask(500, request));
  isBroken = false;
  registry.database.query('ALTER TABLE tiers RENAME TO gone').run();
  for (const request of [...refused(503), '/readyz']) answers.push(await ask(503, request, ample));
  return [...answers, ...bodies];
}
