import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE, finished, issueKey, printed } from '../support/executable.ts';

setDefaultTimeout(300_000);

/** Every command that prints a table, with names that are long. */
const COMMANDS = [
  'status',
  'markets --limit 3',
  'key list',
  'tier list',
  'account list',
  'usage',
  'audit --limit 4',
  'import recordings/a-file-with-a-long-name.ndjson',
  'inspect recordings/a-file-with-a-long-name.ndjson',
  'verify --market simulated-btc-updown-5m-1767868500',
  'replay list',
  'doctor',
  'config show',
  'manual',
];
const ROWS = 400;

const directory = temporaryDirectory();
const cwd = directory.path;
let replay: Child;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  await printed(['seed', '--data', 'data'], { cwd });
  await printed(['account', 'create', 'desk@example.com', '--name', 'The trading desk', '--data', 'data'], { cwd });
  const { id } = await issueKey(join(cwd, 'data'), 'pro', 500);
  await printed(['key', 'set', id, '--name', 'back tests of the autumn', '--expires', '2100-01-01', '--data', 'data'], {
    cwd,
  });
  await printed(['export', '--market', 'simulated-btc-updown-5m-1767868500', '-o', 'export.ndjson', '--data', 'data'], {
    cwd,
  });
  await finished(['mkdir', 'recordings'], { cwd });
  const replaying = ['replay', '--coin', 'btc', '--from', '2026-01-08T10:31:00Z', '--paused', '--port', '0'];
  replay = startChild([EXECUTABLE, ...replaying, '--data', join(cwd, 'data')], { cwd });
  const [url = ''] = await replay.said(/http:\/\/127\.0\.0\.1:\d+/);
  const settings = { BOOKREEL_DATA: 'data', BOOKREEL_REPLAY_URL: url };
  environment = { PATH: process.env.PATH ?? '', LC_ALL: 'C.UTF-8', TERM: 'xterm', ...settings };
  writeFileSync(
    join(cwd, 'recordings', 'a-file-with-a-long-name.ndjson'),
    await Bun.file(join(cwd, 'export.ndjson')).text(),
  );
});
afterAll(async () => {
  await replay[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

/** What differs from run to run, in other text of the same width. */
function masked(text: string): string {
  return text
    .replace(/\b(key|grant)_[a-z2-7]+/g, (id) => id.replace(/(?<=_).*/, (rest) => 'x'.repeat(rest.length)))
    .replace(/\b[0-9a-f]{12}\b/g, '0'.repeat(12))
    .replace(/127\.0\.0\.1:\d{4,5}/g, '127.0.0.1:PORT')
    .replace(/(?<=127\.0\.0\.1:)\d(?=…)/g, 'P')
    .replace(/br_live_[a-z2-7]{6}/g, 'br_live_xxxxxx')
    .replace(/2\d{3}-\d\d-\d\d(?=[T ]\d)(?!.*simulated)/g, (day) => (day.startsWith('2026-01') ? day : 'YYYY-MM-DD'))
    .replace(/(?<=YYYY-MM-DD[T ])[\d:.]+/g, (time) => time.replace(/\d/g, '0'))
    .replace(/\(\d+ records\/s\)/g, '(… records/s)')
    .replace(/\d\.\d MB/g, '… MB');
}

/** The lines of the screen after the commands in a terminal of this width, with their prompts. */
async function linesOn(columns: number): Promise<string[]> {
  const socket = join(cwd, `tmux-${columns}`);
  const tmux = async (...args: string[]) => {
    const { code, stdout, stderr } = await finished(['tmux', '-S', socket, '-f', '/dev/null', ...args], {
      cwd,
      env: environment,
    });
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const script = COMMANDS.map((words) => {
    return `echo '$ ${words}'; '${EXECUTABLE}' ${words}`;
  }).join('; ');
  writeFileSync(join(cwd, 'commands.sh'), `${script}; echo end; sleep 600\n`);
  await tmux('new-session', '-d', '-x', String(columns), '-y', String(ROWS), 'sh commands.sh');
  try {
    for (;;) {
      const lines = (await tmux('capture-pane', '-p', '-J')).trimEnd().split('\n');
      if (lines.at(-1) === 'end') return lines.map((line) => line.trimEnd());
      await Bun.sleep(50);
    }
  } finally {
    await tmux('kill-server');
  }
}

test.skipIf(Bun.which('tmux') === null).each([60, 80, 200])(
  'tables on a terminal of %d columns are as they were (needs tmux)',
  async (columns) => {
    const lines = await linesOn(columns);
    expect(masked(lines.join('\n'))).toMatchSnapshot();
    // Sentences and words that are too long are broken by the terminal. A table has two spaces between its columns.
    const tooLong = lines.filter((line) => Bun.stringWidth(line) > columns);
    for (const line of tooLong) expect(line).not.toMatch(/\S {2,}\S+ +\S/);
  },
);
