import { expect, test } from 'bun:test';
import { EXECUTABLE, HAS_EXECUTABLE } from '../support/executable.ts';
import type { ProblemDocument } from './client.ts';
import { openExecutable } from './executable-target.ts';
import { PARAMETER_ROWS } from './parameter-table.ts';
import { BOOKS, EMPTY, RECORDED, RECORDS, T0 } from './recording.ts';
import { AMPLE_RPM } from './target.ts';

/** An earlier build with whose answers those of the executable under test are compared. */
const BEFORE = process.env.BOOKREEL_BEFORE;

type Issue = NonNullable<ProblemDocument['issues']>[number];

/** A request, and the tier of its key; without one it has no key. */
interface Question {
  readonly path: string;
  readonly tier?: 'enterprise' | 'free';
  readonly method?: string;
}

/** The parts of an answer that two builds on archives of the same records have in common. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | null>>;
  /** Whether it has the X-RateLimit headers; the clock decides their values. */
  readonly hasAllowance: boolean;
  readonly type?: string;
  /** Without issues, which it repeats. */
  readonly detail?: string;
  readonly issues?: readonly Issue[];
  /** Of an answer that is not a problem. */
  readonly body?: string;
}

const HEADERS = ['allow', 'cache-control', 'content-type', 'vary', 'www-authenticate', 'x-bookreel-warning'];
const ALLOWANCE = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

const market = `/v1/btc/markets/${BOOKS.conditionId}`;
const empty = `/v1/btc/markets/${EMPTY.conditionId}`;
const PATHS = [
  '/v1/billing/tiers',
  '/v1/btc/markets',
  market,
  `${market}/snapshots`,
  `${market}/snapshots/at/${T0}`,
  `${market}/snapshots/at`,
  `${market}/coverage`,
  `${market}/heatmap`,
  `${market}/prices`,
  `/v1/btc/markets/${RECORDED.conditionId}/quotes`,
  `${market}/export`,
  `${empty}/stream`,
  '/v1/btc/prices',
];
const NAMES = [
  ...['tf', 'limit', 'skip', 'from', 'to', 'cursor', 'outcome', 'order', 'interval', 'depth', 'mode', 'maxDistance'],
  ...['ts', 'asOf', 'speed', 'format', 'access_token', 'Limit', 'x', '', '__proto__', 'constructor', 'hasOwnProperty'],
  ...['a/b', 'a~1b', '~0', 'a.b', 'a[0]', 'length', 'n'.repeat(60), 'br_live_0123456789', 'ключ', '\u0000', '%'],
];
const QUERIES = [
  ...NAMES.map((name) => `${encodeURIComponent(name)}=1`),
  ...NAMES.map((name) => `${encodeURIComponent(name)}=x&${encodeURIComponent(name)}=x`),
  ...['', '&', '&&', '=', '=1', 'limit', 'limit&limit', 'limit=1&', '?limit=1', 'limit=1?', 'limit=1;skip=2'],
  ...['limit=0&order=up&outcome=left&from=x&cursor=&y=1', 'y=1&limit=0&y=2', 'from=2&to=1', 'from=2&to=1&limit=0'],
  ...['from=x&to=1', 'from=1&to=2', 'asOf=1&from=x', 'depth=0&mode=x&maxDistance=-1', 'ts=x', 'ts=1,x', 'ts=1,2'],
  ...['ts=', 'ts=,', `ts=${'1,'.repeat(1000)}1`, 'ts=9007199254740991', 'ts=1&ts=2', 'ts=1&mode=x', 'speed=0&depth=x'],
  ...[`format=segments&asOf=${T0}`, 'format=x&from=2&to=1', 'cursor=AAAA&limit=x', `cursor=${'A'.repeat(28)}`],
  ...['limit=%31', '%6cimit=1', 'limit=%ZZ', 'limit=%', 'limit=%00', 'limit=%ED%A0%80', 'limit=%FF', 'limit=+1'],
  ...[Array.from({ length: 40 }, (_, i) => `p${i}=1`).join('&'), 'a&'.repeat(20), `limit=${'9'.repeat(12_000)}`],
];
const QUESTIONS: readonly Question[] = [
  ...PARAMETER_ROWS.map(({ path }) => ({ path, tier: 'enterprise' as const })),
  ...PATHS.flatMap((path) => QUERIES.map((query) => ({ path: `${path}?${query}`, tier: 'enterprise' as const }))),
  ...QUERIES.map((query) => ({ path: `${market}/snapshots/at/x?${query}`, tier: 'enterprise' as const })),
  ...['/v1', '/v1/', '/v1/nothing', '/v1/eth/markets', '/v1/nosuch/markets', '/v1/%42TC/markets/', ...PATHS].flatMap(
    (path) =>
      [path, `${path}/`, `${path}?limit=0`, `${path}?x=1`].flatMap((asked) =>
        ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'].flatMap((method) =>
          (['free', 'enterprise', undefined] as const).map((tier) => ({ path: asked, method, ...(tier && { tier }) })),
        ),
      ),
  ),
];

const LIST = /^\/v1\/[^/]+\/markets\/?(?:\?|$)/;
const ONE = /^\/v1\/[^/]+\/markets\/[^/?]+\/?(?:\?|$)/;
const ANY = /^/;

/** Parameters that the earlier build refuses as unknown: answers to requests with them are not compared. */
const ADDED: readonly { readonly path: RegExp; readonly names: readonly string[] }[] = [
  { path: LIST, names: ['recorded', 'closed', 'from', 'to', 'include'] },
  { path: ONE, names: ['include'] },
];

/** Differences that are meant: the text of an issue in the earlier build, and in this one. */
const REWRITTEN: readonly {
  readonly reason: string;
  readonly path: RegExp;
  readonly from: string;
  readonly to: string;
}[] = [
  {
    reason: 'the list of markets takes more parameters',
    path: LIST,
    from: 'allowed are tf, limit, skip, asOf',
    to: 'allowed are tf, limit, skip, recorded, closed, from, to, include, asOf',
  },
  { reason: 'one market takes include', path: ONE, from: 'allowed are asOf', to: 'allowed are include, asOf' },
  {
    reason: 'an empty list has too few instants',
    path: /\/at\?ts=$/,
    from: 'must be Unix milliseconds as plain digits, or an ISO 8601 date or time with Z or an offset',
    to: 'must be 1 to 1000 instants with commas between them',
  },
  { reason: 'a clearer word', path: ANY, from: 'behind the year 9999', to: 'after the year 9999' },
  { reason: 'clearer words', path: ANY, from: 'allowed are', to: 'the path takes' },
  { reason: 'clearer words', path: ANY, from: 'there are none', to: 'the path takes none' },
];

/**
 * One issue for each name, by name: their order is not promised. The earlier build writes one each time that an unknown
 * parameter is given, another one for the value of a parameter that it says is repeated, and one for each of path and query.
 */
function comparable(issues: readonly Issue[]): readonly Issue[] {
  const pathFirst = issues.toSorted((a, b) => a.in.localeCompare(b.in));
  const byName = new Map(pathFirst.toReversed().map((issue) => [issue.name, issue]));
  return [...byName.keys()].sort().map((name) => byName.get(name)!);
}

function asWrittenNow({ issues, ...answer }: Answer, { path }: Question): Answer {
  if (issues === undefined) return answer;
  const rewrites = REWRITTEN.filter((rewrite) => rewrite.path.test(path));
  const rewritten = (text: string) => rewrites.reduce((message, { from, to }) => message.replace(from, to), text);
  return { ...answer, issues: issues.map((issue) => ({ ...issue, message: rewritten(issue.message) })) };
}

/** The service of one build, with an archive that it has imported itself. */
async function openBuild(executable: string) {
  const target = await openExecutable(RECORDS, executable);
  const keyOf = async (tier: 'enterprise' | 'free') => (await target.makeKey(tier, { rpm: AMPLE_RPM })).key;
  const keys = { enterprise: await keyOf('enterprise'), free: await keyOf('free') };
  const answerTo = async ({ path, tier, method = 'GET' }: Question): Promise<Answer> => {
    const authorization = tier === undefined ? {} : { authorization: `Bearer ${keys[tier]}` };
    // No route here reads a body, so a broken one makes no difference.
    const broken = method === 'POST' ? { body: '{' } : {};
    const headers = { accept: 'application/json', 'content-type': 'application/json', ...authorization };
    const response = await fetch(`${target.origin}${path}`, { method, headers, redirect: 'manual', ...broken });
    const text = await response.text();
    const common = {
      status: response.status,
      headers: Object.fromEntries(HEADERS.map((name) => [name, response.headers.get(name)])),
      hasAllowance: ALLOWANCE.every((name) => response.headers.has(name)),
    };
    if (text === '' || common.headers['content-type'] !== 'application/problem+json') return { ...common, body: text };
    const { type, detail, issues } = JSON.parse(text) as ProblemDocument;
    return issues === undefined ? { ...common, type, detail } : { ...common, type, issues: comparable(issues) };
  };
  return { answerTo, [Symbol.asyncDispose]: () => target[Symbol.asyncDispose]() };
}

function isAdded({ path }: Question): boolean {
  const given = new URLSearchParams(path.split('?')[1]);
  return ADDED.some((added) => added.path.test(path) && added.names.some((name) => given.has(name)));
}

const NAME =
  'this build answers every spelling of every parameter as an earlier one does, or differs for a stated reason';

if (BEFORE === undefined || !HAS_EXECUTABLE) {
  test.skip(`${NAME} (needs make build, and BOOKREEL_BEFORE=PATH of the earlier build)`, () => {});
} else {
  test(NAME, async () => {
    await using before = await openBuild(BEFORE);
    await using now = await openBuild(EXECUTABLE);
    const compared = QUESTIONS.filter((question) => !isAdded(question));
    expect(compared.length).toBeGreaterThan(4000);
    const differing: unknown[] = [];
    for (const question of compared) {
      const [earlier, answer] = await Promise.all([before.answerTo(question), now.answerTo(question)]);
      const expected = asWrittenNow(earlier, question);
      if (!Bun.deepEquals(answer, expected)) differing.push({ question, expected, answer });
    }
    expect(differing).toEqual([]);
  }, 120_000);
}
