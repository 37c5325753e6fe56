import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, issueKey, printed, type RunningServer, startServer } from '../support/executable.ts';

const INSPECTOR = join(import.meta.dir, '../inspector/node_modules/.bin/mcp-inspector');
const MARKET = { coin: 'btc', market: 'simulated-btc-updown-5m-1767868200' };

const directory = temporaryDirectory();
const data = join(directory.path, 'archive');
let server: RunningServer;
let key: string;

/** The transports that the inspector opens: the arguments that name the tools' server. */
const TARGETS: [transport: string, target: () => string[]][] = [
  ['a process', () => [EXECUTABLE, 'mcp', '--data', data]],
  ['/mcp', () => [`${server.origin}/mcp`, '--header', `Authorization: Bearer ${key}`]],
];

/** Runs the inspector, which keeps its state in the home directory of the test. */
async function inspected(target: readonly string[], ...args: string[]) {
  const child = Bun.spawn([INSPECTOR, '--cli', ...target, '--format', 'json', ...args], {
    env: { ...process.env, HOME: directory.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { out, err, code };
}

describe.skipIf(!existsSync(INSPECTOR))('the inspector of the specification (needs make campaign)', () => {
  beforeAll(async () => {
    await printed(['seed', '--data', data]);
    ({ key } = await issueKey(data));
    server = await startServer(data, ['--mcp', 'on']);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const cases = TARGETS.flatMap(([transport, target]) =>
    ['legacy', 'modern'].map((era) => [`${transport}, ${era} version`, target, era] as const),
  );
  describe.each(cases)('through %s', (_, target, era) => {
    test('It finds nothing to say about the tools.', async () => {
      const { out, err, code } = await inspected(
        target(),
        ...['--method', 'tools/list', '--strict', '--quiet', '--protocol-era', era],
      );
      expect({ err, code }).toEqual({ err: '', code: 0 });
      expect(JSON.parse(out).result.tools).toHaveLength(9);
    });

    test('It calls a tool, and shows its refusal.', async () => {
      const call = async (given: object) =>
        await inspected(
          target(),
          ...['--method', 'tools/call', '--tool-name', 'market', '--protocol-era', era],
          ...['--tool-args-json', JSON.stringify(given)],
        );
      const { out } = await call(MARKET);
      expect(JSON.parse(JSON.parse(out).result.content[0].text).market.slug).toBe(MARKET.market);
      const refused = await call({ ...MARKET, market: 'x' });
      expect(refused.code).not.toBe(0);
      expect(`${refused.out}${refused.err}`).toContain('no market');
    });
  });

  test('Without a key it is refused at /mcp, and with one of another service too.', async () => {
    for (const header of [[], ['--header', `Authorization: Bearer br_live_${'a'.repeat(39)}`]]) {
      const { out, code } = await inspected([`${server.origin}/mcp`, ...header], '--method', 'tools/list');
      expect(code).not.toBe(0);
      expect(out).toBe('');
    }
  });
});
