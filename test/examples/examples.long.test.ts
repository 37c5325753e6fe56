import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openExecutable } from '../contract/executable-target.ts';
import { expectedSnapshots } from '../contract/oracle.ts';
import { BOOKS, RECORDS } from '../contract/recording.ts';
import { AMPLE_RPM, type Target } from '../contract/target.ts';
import { installClient } from '../sdk/installed-client.ts';
import { installWheel, PYTHON } from '../sdk/python.ts';
import { BUN, type Finished, finished } from '../support/executable.ts';
import { type Behaviour, RETRY_AFTER_SECONDS, startUnreliableProxy } from './unreliable-proxy.ts';

setDefaultTimeout(120_000);

const HERE = import.meta.dir;
const PAGE_ON_CLIENTS = readFileSync(join(HERE, '..', '..', 'src', 'manual', 'interface.md'), 'utf8');
const installed = mkdtempSync(join(tmpdir(), 'bookreel-examples-'));

/** The client in TypeScript without its types, for releases of Node that cannot remove them, beside the installed package. */
const forNode = join(installed, 'walk.mjs');
writeFileSync(forNode, new Bun.Transpiler({ loader: 'ts' }).transformSync(readFileSync(join(HERE, 'walk.ts'), 'utf8')));

const CLIENTS = [
  { name: 'curl and sh', needs: ['sh', 'curl'], command: ['sh', join(HERE, 'walk.sh')], tries: 5 },
  { name: 'TypeScript on Bun', needs: [], command: [...BUN, join(HERE, 'walk.ts')], tries: 3 },
  { name: 'TypeScript on Node', needs: ['node', 'npm'], command: ['node', forNode], tries: 3 },
  { name: 'Python', needs: [PYTHON ?? 'python3 with httpx'], command: [PYTHON!, join(HERE, 'walk.py')], tries: 3 },
] as const;

const PAGE = 70;

/** The expected output: a line per record, in the order of the series, found without the service. */
const EXPECTED = expectedSnapshots(BOOKS).map(({ timestamp, id }) => `${timestamp} ${id}`);

let target: Target;
let key: string;
beforeAll(async () => {
  target = await openExecutable(RECORDS);
  await installClient(installed);
  if (PYTHON !== undefined) await installWheel(installed);
  ({ key } = await target.makeKey('starter', { rpm: AMPLE_RPM }));
});
afterAll(async () => {
  await target[Symbol.asyncDispose]();
  rmSync(installed, { recursive: true, force: true });
});

test('the manual shows a part of a client, and names all of them', () => {
  const section = PAGE_ON_CLIENTS.slice(PAGE_ON_CLIENTS.indexOf('## Clients'));
  const [, shown] = /```python\n([^`]+)```/.exec(section)!;
  expect(readFileSync(join(HERE, 'walk.py'), 'utf8').replaceAll(/^ {8}/gm, '')).toContain(shown!);
  for (const file of ['walk.sh', 'walk.ts', 'walk.py']) {
    expect(section).toContain(`\`test/examples/${file}\``);
    expect(existsSync(join(HERE, file))).toBe(true);
  }
});

describe.each(CLIENTS)('$name', ({ needs, command, tries }) => {
  // The clients mostly wait, so their tests run at the same time.
  const testHere = needs.every((program) => Bun.which(program) !== null) ? test.concurrent : test.skip;

  const walk = async (origin: string, apiKey: string, args = ['btc', BOOKS.slug, String(PAGE)]): Promise<Finished> => {
    const env = {
      PATH: Bun.env.PATH!,
      PYTHONPATH: join(installed, 'installed'),
      BOOKREEL_URL: origin,
      BOOKREEL_KEY: apiKey,
    };
    const walked = await finished([...command, ...args], { env });
    if (apiKey !== '') expect(`${walked.stdout}${walked.stderr}`).not.toContain(apiKey);
    return walked;
  };

  testHere('prints every record once, in order, with pages of any size', async () => {
    expect(EXPECTED.length).toBeGreaterThan(400);
    for (const args of [
      ['btc', BOOKS.conditionId],
      ['BTC', BOOKS.slug, '419'],
    ]) {
      const { stdout, stderr, code } = await walk(target.origin, key, args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.split('\n').slice(0, -1)).toEqual(EXPECTED);
    }
  });

  testHere('prints nothing for a market without records, and succeeds', async () => {
    const { stdout, code } = await walk(target.origin, key, ['btc', 'btc-updown-15m-1776323400']);
    expect({ stdout, code }).toEqual({ stdout: '', code: 0 });
  });

  testHere(
    'prints every record in spite of limits, outages and broken connections, and waits for Retry-After',
    async () => {
      const behaviours: readonly Behaviour[] = [
        'limited',
        'pass',
        'unavailable',
        'hang up',
        'pass',
        'cut off',
        'pass',
        'pass',
        'overloaded',
        'limited',
      ];
      await using proxy = await startUnreliableProxy(target.origin, behaviours);
      const { stdout, stderr, code } = await walk(proxy.origin, key);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.split('\n').slice(0, -1)).toEqual(EXPECTED);
      const { seen } = proxy;
      const failures = behaviours.filter((behaviour) => behaviour !== 'pass').length;
      expect(seen.map(({ behaviour }) => behaviour)).toEqual([
        ...behaviours,
        ...Array.from(
          { length: Math.ceil(EXPECTED.length / PAGE) - (behaviours.length - failures) },
          () => 'pass' as const,
        ),
      ]);
      for (const [nth, { behaviour, target: asked, atMs, keyInArguments }] of seen.entries()) {
        expect(keyInArguments).toBe(false);
        const next = seen[nth + 1];
        if (behaviour === 'pass' || next === undefined) continue;
        // The client requests the same page again; after a 429 only when Retry-After is over.
        expect(next.target).toBe(asked);
        if (behaviour === 'limited') expect(next.atMs - atMs).toBeGreaterThanOrEqual(RETRY_AFTER_SECONDS * 1000 - 5);
      }
    },
  );

  testHere(`gives up after ${tries} tries, with only whole pages and the reason printed`, async () => {
    const behaviours: readonly Behaviour[] = [
      'pass',
      ...Array.from({ length: 2 * tries }, () => 'unavailable' as const),
    ];
    await using proxy = await startUnreliableProxy(target.origin, behaviours);
    const { stdout, stderr, code } = await walk(proxy.origin, key);
    expect(code).not.toBe(0);
    expect(stderr).toContain('try again later');
    expect(stdout.split('\n').slice(0, -1)).toEqual(EXPECTED.slice(0, PAGE));
    expect(proxy.seen).toHaveLength(1 + tries);
  });

  testHere(
    'prints the error of the service for a wrong key, a wrong coin and an unknown market, after one request',
    async () => {
      await using proxy = await startUnreliableProxy(target.origin, []);
      const wrong = `${key.slice(0, -4)}aaaa`;
      for (const [apiKey, args, said] of [
        [wrong, ['btc', BOOKS.slug], 'a valid API key is needed'],
        [key, ['sol', 'sol-updown-4h'], "the tier 'starter' does not grant this coin"],
        [key, ['btc', 'no-such-market'], '404'],
        [key, ['btc', BOOKS.slug, '0'], 'limit must be an integer from 1 to 1000'],
      ] as const) {
        const before = proxy.seen.length;
        const { stdout, stderr, code } = await walk(proxy.origin, apiKey, [...args]);
        expect(code, said).not.toBe(0);
        expect(stdout).toBe('');
        expect(stderr).toContain(said);
        expect(proxy.seen.length).toBe(before + 1);
      }
    },
  );

  testHere('without a key says so and sends no request', async () => {
    await using proxy = await startUnreliableProxy(target.origin, []);
    const { stderr, code } = await walk(proxy.origin, '');
    expect(code).not.toBe(0);
    expect(stderr).toContain('BOOKREEL_KEY');
    expect(proxy.seen).toHaveLength(0);
  });
});
