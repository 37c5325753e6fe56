import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { HAS_EXECUTABLE } from '../support/executable.ts';
import { type Client, clientOf } from './client.ts';
import { openExecutable } from './executable-target.ts';
import { openInProcess } from './in-process-target.ts';
import { PARAMETER_ROWS } from './parameter-table.ts';
import { BOOKS, ETH, RECORDED, RECORDS, SOL, T0 } from './recording.ts';
import { contractSuite } from './suite.ts';
import { AMPLE_RPM, type Target } from './target.ts';

setDefaultTimeout(60_000);

/**
 * The executable is minified and bundled, its texts are built in, and its keys, tiers and recordings are changed by other
 * processes. These parts of the contract depend on that. Campaigns run all parts against an executable.
 */
const NAME = 'the contract, against the executable';
if (HAS_EXECUTABLE)
  contractSuite(NAME, openExecutable, { parts: ['account', 'outside /v1', 'the script of the reference', 'access'] });
else test.skip(`${NAME} (needs make build)`, () => {});

/** One spelling of a parameter in this number is compared; campaigns send all of them to an executable. */
const COMPARED_EVERY = 5;

const KINDS = [
  '',
  '?include=counts',
  '/snapshots?limit=1000',
  '/snapshots?interval=1s&depth=2&order=desc',
  `/snapshots/at/${T0 + 3000}`,
  `/snapshots/at?ts=${T0},${T0 + 3000}&mode=before`,
  '/coverage',
  '/heatmap?columns=40',
  '/stream?speed=max&depth=3',
  '/export',
  '/export?format=csv',
  '/export?format=parquet',
  '/export?format=segments',
  '/quotes?order=desc',
  '/prices?outcome=up',
];
const QUESTIONS: readonly string[] = [
  ...[BOOKS, RECORDED, ETH, SOL].flatMap((market) =>
    KINDS.map((kind) => `/v1/${market.symbol}/markets/${market.conditionId}${kind}`),
  ),
  ...['btc', 'eth', 'sol', 'xrp', 'nosuch'].flatMap((coin) => [`/v1/${coin}/markets`, `/v1/${coin}/prices?limit=7`]),
  '/v1/coins',
  `/v1/coins?asOf=${T0 + 5000}`,
  `/v1/btc/markets?recorded=true&include=counts&asOf=${T0 + 5000}`,
  '/v1/btc/days',
  `/v1/btc/midpoints?markets=${BOOKS.slug}&points=7`,
  '/v1/billing/tiers',
  '/v1/nothing',
  '/nothing',
  '/healthz',
  '/readyz',
  '/v1/btc/markets?limit=1&limit=2',
  '/v1/btc/markets?unknown=1',
  '/v1/btc/markets?limit=%ZZ',
  `/v1/btc/markets/${BOOKS.conditionId}/snapshots?from=2&to=1`,
];

describe.skipIf(!HAS_EXECUTABLE)('the executable answers as the sources do', () => {
  const targets: Target[] = [];
  let clients: readonly Client[] = [];
  beforeAll(async () => {
    targets.push(await openInProcess(RECORDS), await openExecutable(RECORDS));
    clients = await Promise.all(
      targets.map(async (target) =>
        clientOf(target.origin, (await target.makeKey('enterprise', { rpm: AMPLE_RPM })).key),
      ),
    );
  });
  afterAll(async () => {
    for (const target of targets) await target[Symbol.asyncDispose]();
  });

  const answersTo = async (path: string, accept: string): Promise<unknown[]> => {
    const replies = await Promise.all(clients.map((get) => get(path, { headers: { accept } })));
    return replies.map(({ status, headers, bytes, text }) => [
      path,
      status,
      headers.get('content-type'),
      headers.get('x-bookreel-warning'),
      headers.get('content-type') === 'application/msgpack'
        ? Buffer.from(bytes).toString('base64')
        : text.replace(/"requestId":"[^"]*"/, ''),
    ]);
  };

  test('a spelling of a parameter gets the same answer from the executable as in process', async () => {
    for (const { path } of PARAMETER_ROWS.filter((_, row) => row % COMPARED_EVERY === 0)) {
      const [inProcess, executable] = await answersTo(path, 'application/json');
      expect(executable).toEqual(inProcess);
    }
  });

  test.each(['application/json', 'application/msgpack', 'text/csv'])(
    'every kind of record as %s is the same bytes from both',
    async (accept) => {
      for (const path of QUESTIONS) {
        const [inProcess, executable] = await answersTo(path, accept);
        expect(executable).toEqual(inProcess);
      }
    },
  );
});
