import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { HAS_EXECUTABLE } from '../support/executable.ts';
import { type Client, clientOf } from './client.ts';
import { openExecutable } from './executable-target.ts';
import { openInProcess } from './in-process-target.ts';
import { PARAMETER_ROWS } from './parameter-table.ts';
import { QUESTIONS } from './questions.ts';
import { RECORDS } from './recording.ts';
import { contractSuite } from './suite.ts';
import { AMPLE_RPM, type Target } from './target.ts';

setDefaultTimeout(120_000);

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
