import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from '../../src/trading/report.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { printed, runExecutable } from '../support/executable.ts';

const directory = temporaryDirectory();
afterAll(() => directory[Symbol.dispose]());
const cwd = directory.path;
const SELECTION = ['--tf', '5m', '--coin', 'btc,eth', '--data', join(cwd, 'data')];
const run = (...args: readonly string[]) => runExecutable(['backtest', ...args], { cwd });
const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);

beforeAll(async () => {
  await printed(['seed', '--data', join(cwd, 'data')]);
  for (const [name, file] of [
    ['both-sides', 'both-sides.ts'],
    ['types', 'strategy.ts'],
  ] as const)
    write(file, await printed(['backtest', '--example', name]));
});

test('A backtest has the same bytes again, with any number of processes, also of a strategy that shares state and uses random numbers and the time.', async () => {
  write(
    'shared.ts',
    `import type { Strategy } from './strategy.ts';
let calls = 0;
export default (): Strategy => ({
  onBook(context, outcome) {
    calls += 1;
    const { bid } = context.book(outcome);
    if (Date.now() !== context.nowMs || new Date().getTime() !== context.nowMs) throw new Error('another time');
    if (Date() !== new Date().toString() || new Date().constructor !== Date) throw new Error('another Date');
    if (bid !== undefined && Math.random() < 0.3) context.buy({ outcome, price: bid, size: 5 + (calls % 20) });
  },
});
`,
  );
  const runs = await Promise.all(
    ['1', '2', '2'].map(async (jobs) => {
      const csv = `fills-${crypto.randomUUID()}.csv`;
      const { stdout, code, stderr } = await run('shared.ts', ...SELECTION, '--jobs', jobs, '--json', '--csv', csv);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return { stdout, csv: readFileSync(join(cwd, csv), 'utf8') };
    }),
  );
  expect(runs[1]).toEqual(runs[0]!);
  expect(runs[2]).toEqual(runs[0]!);
  const report: Report = JSON.parse(runs[0]!.stdout);
  expect(report.summary).toMatchObject({ markets: 6, marketsWithFills: 6 });
  expect(report.queues.map(({ queue }) => queue)).toEqual(['behind', 'mid', 'front']);
  expect(runs[0]!.csv.trimEnd().split('\r\n')).toHaveLength(1 + report.fills.length);
  // What was asked for it explains.
  write('report.json', runs[0]!.stdout);
  const explained = await printed(['paper', 'explain', report.fills[0]!.order, '--report', 'report.json'], { cwd });
  expect(explained).toContain(`snapshot ${report.fills[0]!.evidence.id} of ${report.fills[0]!.evidence.at}`);
});

test('- is no file of a backtest: standard output has the report.', async () => {
  for (const flag of ['--csv', '--html']) {
    const { code, stdout, stderr } = await run('both-sides.ts', ...SELECTION, flag, '-');
    expect([code, stdout, existsSync(join(cwd, '-'))]).toEqual([2, '', false]);
    expect(stderr).toContain('it must be a file: standard output has the report');
  }
});

test('The page of a report loads nothing, and files that exist are not replaced.', async () => {
  const { code, stdout } = await run('both-sides.ts', ...SELECTION, '--html', 'report.html');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^both-sides\.ts from 2026-01-08T10:25:/);
  expect(stdout).toContain("written to 'report.html'");
  const html = readFileSync(join(cwd, 'report.html'), 'utf8');
  const [, profit] = /^Profit +(\S+) dollars/m.exec(stdout)!;
  expect(html).toContain(`>${profit}<`);
  expect(html).not.toMatch(/<script|<link|<img|\bsrc=|url\((?!#)|@import|https?:(?!\/\/www\.w3\.org\/2000\/svg)/i);
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const again = await run('both-sides.ts', ...SELECTION, '--html', 'report.html');
  expect(again).toMatchObject({ code: 1, stdout: '' });
  expect(again.stderr).toContain("'report.html' exists already");
});

describe('A strategy that cannot be run is refused in one sentence, with its file and line:', () => {
  mkdirSync(join(cwd, 'parts'));
  write(
    'parts/odds.ts',
    'export function odds(price: number): number {\n  if (price > 0) throw new RangeError("no odds");\n  return price;\n}\n',
  );
  test.each([
    ['missing.ts', undefined, 2, /^bookreel: there is no strategy 'missing\.ts'\n$/],
    [
      'syntax.ts',
      'export default () => {\n  const a = ;\n};\n',
      2,
      /^bookreel: the strategy cannot be loaded: Unexpected ; \(syntax\.ts:2:13\)\n$/,
    ],
    [
      'errors.ts',
      'const a = 1;\nconst a = 2;\nconst a = 3;\nexport default () => ({});\n',
      2,
      /^bookreel: the strategy cannot be loaded: "a" has already been declared \(errors\.ts:2:7\)\n$/,
    ],
    [
      'import.ts',
      "import './nowhere.ts';\n",
      2,
      /^bookreel: the strategy cannot be loaded: Cannot find module '\.\/nowhere\.ts' .*\n$/,
    ],
    [
      'named.ts',
      'export const strategy = {};\n',
      2,
      /^bookreel: '.*named\.ts' is no strategy: its default export must be a function.*\n$/,
    ],
    [
      'nothing.ts',
      'export default () => 5;\n',
      2,
      /^bookreel: the function that a strategy exports must return an object.*\n$/,
    ],
    [
      'first.ts',
      'export default () => {\n  throw new Error("no model");\n};\n',
      1,
      /^bookreel: the strategy failed before simulated-\S+: no model \(first\.ts:2:\d+\)\n$/,
    ],
    [
      'throws.ts',
      "import { odds } from './parts/odds.ts';\nexport default () => ({\n  onBook(context: any, outcome: any) {\n    console.log('odds', odds(context.book(outcome).bid));\n  },\n});\n",
      1,
      /^bookreel: the strategy failed in onBook at 2026-01-08T10:25:\S+Z of simulated-btc-updown-5m-1767867900: RangeError: no odds \(odds\.ts:2:\d+\)\n$/,
    ],
    [
      'timer.ts',
      'export default () => ({\n  onStart: () => void setTimeout(() => { throw new Error("late"); }),\n});\n',
      1,
      /^bookreel: the strategy failed in asynchronous code of simulated-btc-updown-5m-1767867900: late \(timer\.ts:2:\d+\)\n$/,
    ],
    [
      'rejects.ts',
      'const lookUp = async () => {\n  await 1;\n  throw new RangeError("no answer");\n};\nexport default () => ({ onEnd: () => void lookUp() });\n',
      1,
      /^bookreel: the strategy failed in asynchronous code of simulated-btc-updown-5m-1767867900: RangeError: no answer \(rejects\.ts:3:\d+\)\n$/,
    ],
    [
      'reason.ts',
      'export default () => ({ onStart: () => void Promise.reject("a reason") });\n',
      1,
      /^bookreel: the strategy failed in asynchronous code of simulated-btc-updown-5m-1767867900: a reason\n$/,
    ],
    [
      'never.ts',
      'export default () => new Promise(() => setTimeout(() => { throw new Error("no model"); }));\n',
      1,
      /^bookreel: the strategy failed in asynchronous code of simulated-btc-updown-5m-1767867900: no model \(never\.ts:1:\d+\)\n$/,
    ],
    [
      'ends.ts',
      'export default () => ({ onStart: () => process.exit(7) });\n',
      1,
      /^bookreel: the process that ran market 1 of 6 ended: .*\n$/,
    ],
    [
      'loops.ts',
      'export default () => ({ onBook: () => { for (;;); } });\n',
      1,
      /^bookreel: the strategy did not return within 1 s in market 1 of 6: .*\n$/,
    ],
  ] as const)('%s', async (name, text, code, sentence) => {
    if (text !== undefined) write(name, text);
    const ended = await run(name, ...SELECTION, '--stuck-after', name === 'loops.ts' ? '1s' : '2m');
    expect(ended.stderr).toMatch(sentence);
    expect(ended).toMatchObject({ code, stdout: '' });
  });
});

test('A strategy that takes its time in each moment is not taken for a loop.', async () => {
  const slow = `export default () => {
  let calls = 0;
  return { onBook() { if (calls++ < 12) Bun.sleepSync(300); } };
};
`;
  write('slow.js', slow);
  const selection = ['--market', 'simulated-btc-updown-5m-1767868200', ...SELECTION.slice(-2), '--queue', 'behind'];
  expect(await run('slow.js', ...selection, '--stuck-after', '3s')).toMatchObject({ code: 0, stderr: '' });
});

test('What a strategy prints goes to standard error, and a strategy that does nothing earns nothing.', async () => {
  write('quiet.js', "export default (market) => ({ onEnd: () => console.log('end of', market.slug) });\n");
  const { code, stdout, stderr } = await run(
    'quiet.js',
    '--market',
    'simulated-btc-updown-5m-1767868200',
    ...SELECTION.slice(-2),
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'end of simulated-btc-updown-5m-1767868200\n' });
  expect(stdout).toContain('Profit    0.00 dollars');
});

describe('A program', () => {
  test('has the addresses of a replay and a key of an account in its environment, and its exit code counts', async () => {
    write(
      'bot.js',
      `const { CLOB_API_URL, CLOB_WS_URL, GAMMA_API_URL, RTDS_URL, PRIVATE_KEY, CHAIN_ID } = process.env;
const time = await (await fetch(CLOB_API_URL + '/time')).text();
const markets = await (await fetch(GAMMA_API_URL + '/markets?limit=2')).json();
await new Promise((opened, failed) => Object.assign(new WebSocket(CLOB_WS_URL), { onopen: opened, onerror: failed }));
await new Promise((opened, failed) => Object.assign(new WebSocket(RTDS_URL), { onopen: opened, onerror: failed }));
console.log(JSON.stringify({ time, markets: markets.length, key: PRIVATE_KEY.length, chain: CHAIN_ID, args: process.argv.slice(2) }));
process.exit(Number(process.argv[2]));
`,
    );
    const program = [process.execPath, join(cwd, 'bot.js')];
    const failing = await run(
      ...SELECTION,
      '--from',
      '2026-01-08T10:31:00Z',
      '--json',
      '--',
      ...program,
      '3',
      '--speed',
    );
    const [line, sentence] = failing.stderr.split('\n');
    expect(JSON.parse(line!)).toEqual({
      ...{ time: String(Date.UTC(2026, 0, 8, 10, 31) / 1000), markets: 2, key: 66, chain: '137' },
      args: ['3', '--speed'],
    });
    expect(JSON.parse(sentence!).error).toBe(
      'the program ended with exit code 3: the report has what it did until then',
    );
    expect(failing.code).toBe(1);
    expect(JSON.parse(failing.stdout)).toMatchObject({
      summary: { markets: 0, orders: 0 },
      settings: { cashIsFor: 'all markets together' },
    });
  });

  test('trades: the report has its fills, and the pay of the shares that won', async () => {
    const slug = 'simulated-btc-updown-5m-1767868200';
    const bot = [process.execPath, join(import.meta.dir, 'backtest-bot.ts'), slug];
    const selection = [
      '--market',
      slug,
      '--from',
      '2026-01-08T10:31:00Z',
      '--to',
      '2026-01-08T10:36:00Z',
      '--speed',
      '100',
    ];
    const ended = await run(...selection, ...SELECTION.slice(-2), '--json', '--', ...bot);
    expect(JSON.parse(ended.stderr)).toEqual({
      status: 'delayed',
      errorMsg: '',
      address: expect.stringMatching(/^0x/),
    });
    const report: Report = JSON.parse(ended.stdout);
    const { fills, summary, accounts, assumptions, markets } = report;
    const spent = fills.reduce((sum, { dollars, fee }) => sum + dollars + fee, 0);
    expect(summary).toMatchObject({ markets: 1, marketsWon: 1, orders: 1, refused: 0, shares: 20 });
    expect(summary.profit).toBeCloseTo(20 - spent, 6);
    expect(markets).toMatchObject([{ slug, profit: summary.profit }]);
    expect(assumptions[0]).toBe('All markets share the 1000 dollars of an account.');
    // The venue's delay of that day held it first.
    expect(accounts.map(({ events }) => events.map(({ kind }) => kind).join())).toEqual([
      ['delayed', ...fills.map(() => 'fill'), 'closed'].join(),
    ]);
  });

  test('is ended with its recording', async () => {
    write(
      'waits.js',
      'process.on("SIGTERM", () => { console.log("asked to end"); process.exit(0); });\nsetInterval(() => {}, 1000);\n',
    );
    const { code, stdout, stderr } = await run(
      ...SELECTION,
      '--to',
      '2026-01-08T10:26:30Z',
      '--speed',
      '100',
      '--',
      process.execPath,
      join(cwd, 'waits.js'),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'asked to end\n' });
    expect(stdout).toContain('to 2026-01-08T10:26:30.000Z');
  });

  test.each([
    [
      'asks for a moment',
      'process.on("SIGTERM", () => setTimeout(() => { console.log("done"); process.exit(); }, 300));',
    ],
    ['does not listen', 'process.on("SIGTERM", () => {});'],
  ])('of a shell is ended too: it %s', async (_, listens) => {
    write('child.js', `${listens}\nconsole.log(process.pid);\nsetInterval(() => {}, 1000);\n`);
    const ended = await run(
      ...[...SELECTION, '--to', '2026-01-08T10:26:30Z', '--speed', '100', '--'],
      ...['sh', '-c', `'${process.execPath}' '${join(cwd, 'child.js')}'; true`],
    );
    const [pid, ...said] = ended.stderr.trimEnd().split('\n');
    expect({ code: ended.code, said }).toEqual({ code: 0, said: listens.includes('done') ? ['done'] : [] });
    const status = `/proc/${pid}/status`;
    // The system may not have collected what has ended.
    expect(existsSync(status) ? readFileSync(status, 'utf8') : '').not.toMatch(/^State:\s+[^ZX]/m);
  });

  test.each<[readonly string[], string]>([
    [['nosuchprogram'], "'nosuchprogram' cannot be run: name a program, or a strategy's file .ts"],
    [[], "name a strategy's file, or a program after --"],
  ])('that is none is refused (%p)', async (words, sentence) => {
    const { code, stdout, stderr } = await run(...words, ...SELECTION);
    expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: `bookreel: ${sentence}\n` });
    expect(existsSync(join(cwd, 'undefined'))).toBe(false);
  });
});
