import { describe, expect, test } from 'bun:test';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf, runCommand } from '../support/command.ts';
import { EXECUTABLE, finished } from '../support/executable.ts';
import { LIGHT_MARKET, lightSnapshot, writeLightRecording } from '../support/light-recording.ts';
import { Screen } from '../support/screen.ts';

/** Longer than the widest terminal of these tests; some characters take two columns. */
const LONG_NAME = `${'a'.repeat(80)}${'板'.repeat(50)}.ndjson`;

/** A named pipe to which a test writes a few records at a time, so that it decides how long the import takes. */
async function slowRecording(
  path: string,
): Promise<Disposable & { readonly feed: () => void; readonly end: () => void }> {
  expect((await finished(['mkfifo', path], {})).code).toBe(0);
  // Opened for reading too: otherwise the call would wait for a reader.
  const descriptor = openSync(path, 'r+');
  let isOpen = true;
  const end = () => {
    if (isOpen) closeSync(descriptor);
    isOpen = false;
  };
  let next = 0;
  writeSync(descriptor, `${JSON.stringify(LIGHT_MARKET)}\n`);
  return {
    feed: () => {
      writeSync(descriptor, `${JSON.stringify(lightSnapshot(next))}\n`);
      next += 1;
    },
    end,
    [Symbol.dispose]: end,
  };
}

async function until(happened: () => boolean | Promise<boolean>, feed: () => void): Promise<void> {
  while (!(await happened())) {
    feed();
    await Bun.sleep(10);
  }
}

function onTerminal(args: readonly string[], cwd: string, columns: number, noColor = '') {
  const screen = new Screen(columns);
  const child = Bun.spawn([EXECUTABLE, ...args], {
    cwd,
    env: { ...process.env, TERM: 'xterm', NO_COLOR: noColor },
    terminal: { cols: columns, rows: 20, data: (_: unknown, bytes: Uint8Array) => screen.write(bytes) },
  });
  return { child, screen };
}

/** The progress lines in the order in which they were written. */
function painted(screen: Screen): string[] {
  const [, ...begun] = screen.written.split('\u001b[?7l\r');
  return begun.flatMap((text) => (text.includes('\u001b[?7h') ? [text.slice(0, text.indexOf('\u001b'))] : []));
}

describe('progress', () => {
  test('is one line that is erased at the end, with a bar where the size is known', async () => {
    using directory = temporaryDirectory();
    writeLightRecording(join(directory.path, 'light.ndjson'), 40_000);
    const { child, screen } = onTerminal(['import', 'light.ndjson', '--data', 'data'], directory.path, 200);
    expect(await child.exited).toBe(0);
    child.terminal?.close();
    const lines = painted(screen);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines.slice(0, -1)) {
      expect(line).toMatch(
        /^ {0,2}\d+ % \[[#.]{24}\] of \d+\.\d MB(?:, \d+ s left)?: \d+ records read, \d+ stored, \d+ records\/s, file [01] of 1 \((?:light\.ndjson)?\)$/,
      );
    }
    expect(lines.at(-1)).toBe('');
    expect(screen.rows[0]).toStartWith('40001 records read');
  });

  test('of an export has a bar of its markets, and its data goes elsewhere', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    writeLightRecording(join(cwd, 'light.ndjson'), 12_000);
    const other = { ...LIGHT_MARKET, conditionId: '0xcd', slug: 'other', clobTokenIds: ['21', '22'] };
    writeFileSync(join(cwd, 'other.ndjson'), JSON.stringify({ ...other, startTime: 0 }));
    await outputOf(['import', 'light.ndjson', 'other.ndjson', '--data', 'data'], { cwd });
    expect((await finished(['mkfifo', join(cwd, 'pipe')], {})).code).toBe(0);
    const screen = new Screen(200);
    const command = `'${EXECUTABLE}' export --format csv --data data > pipe`;
    const child = Bun.spawn(['sh', '-c', command], {
      cwd,
      terminal: { cols: 200, rows: 20, data: (_: unknown, bytes: Uint8Array) => screen.write(bytes) },
    });
    // The export goes on when its data is read.
    let text = '';
    for await (const bytes of Bun.file(join(cwd, 'pipe')).stream()) {
      text += Buffer.from(bytes).toString();
      if (painted(screen).length === 0) await Bun.sleep(10);
    }
    expect(await child.exited).toBe(0);
    child.terminal?.close();
    const lines = painted(screen);
    expect(lines[0]).toMatch(/^ 50 % \[#{12}\.{12}\] of 2 markets, \d+ s left: \d+ records, \d+\.\d MB written$/);
    expect(lines.at(-1)).toBe('');
    expect(screen.rows[0]).toStartWith('{"format":"csv"');
    expect(text.split('\n')).toHaveLength(1 + 2 + 12_000 * 4 + 1);
  });

  test('of verify has a bar of the markets that are left, on a terminal only', async () => {
    using directory = temporaryDirectory();
    await outputOf(['seed', '--data', 'data'], { cwd: directory.path });
    const { child, screen } = onTerminal(['verify', '--jobs', '2', '--data', 'data'], directory.path, 200);
    expect(await child.exited).toBe(0);
    child.terminal?.close();
    const lines = painted(screen);
    expect(lines.length).toBeGreaterThan(1);
    for (const line of lines.filter((each) => each !== '')) {
      expect(line).toMatch(/^ {0,2}\d+ % \[[#.]{24}\] of 60 markets, \d+ s left$/);
    }
    expect(lines.at(-1)).toBe('');
    const piped = await finished([EXECUTABLE, 'verify', '--jobs', '2', '--data', 'data'], { cwd: directory.path });
    expect([piped.code, piped.stderr]).toEqual([0, '']);
  });

  test('Progress is one line on a terminal, at every width.', async () => {
    using directory = temporaryDirectory();
    using recording = await slowRecording(join(directory.path, LONG_NAME));
    const { child, screen } = onTerminal(['import', LONG_NAME, '--data', 'data'], directory.path, 200);
    for (const columns of [200, 80, 60, 40, 20, 1, 80, 20, 200]) {
      child.terminal?.resize(columns, 20);
      screen.narrow(columns);
      const before = painted(screen).length;
      // The first one may have been written before the width changed.
      await until(() => painted(screen).length >= before + 2, recording.feed);
      const line = painted(screen).at(-1)!;
      expect({ columns, rows: screen.rows }).toEqual({ columns, rows: [line] });
      const width = Bun.stringWidth(line);
      expect(width).toBeLessThan(columns);
      // The line uses the whole width, but a character of two columns may not fit into the last column.
      expect(width).toBeGreaterThanOrEqual(columns - 2);
    }
    child.kill('SIGINT');
    await until(() => screen.written.includes('stopping'), recording.feed);
    expect(screen.rows.filter((row) => row.includes('stopping'))).toEqual([
      'stopping after this batch; a second signal stops at once',
    ]);
    recording.end();
    expect(await child.exited).toBe(1);
    child.terminal?.close();
    expect(painted(screen).at(-1)).toBe('');
    expect(screen.rows.filter((row) => row.includes(' MB'))).toEqual([]);
  });

  test.skipIf(Bun.which('tmux') === null)(
    'leaves nothing on a terminal that breaks long lines (needs tmux)',
    async () => {
      using directory = temporaryDirectory();
      using recording = await slowRecording(join(directory.path, LONG_NAME));
      const socket = join(directory.path, 'tmux');
      const tmux = async (...args: string[]) => {
        const { code, stdout, stderr } = await finished(['tmux', '-S', socket, '-f', '/dev/null', ...args], {
          cwd: directory.path,
          env: { PATH: process.env.PATH ?? '', LC_ALL: 'C.UTF-8' },
        });
        if (code !== 0) throw new Error(stderr);
        return stdout;
      };
      const importing = `seq 30; '${EXECUTABLE}' import ${LONG_NAME} --data data; echo after; sleep 60`;
      await tmux('new-session', '-d', '-x', '80', '-y', '10', importing);
      try {
        const rows = async () => (await tmux('capture-pane', '-p', '-S', '-')).trimEnd().split('\n');
        for (const columns of [80, 30, 120, 20, 60]) {
          await tmux('resize-window', '-x', String(columns), '-y', '10');
          let shown: string[] = [];
          // If an earlier row stays on the screen, this never ends.
          await until(async () => {
            shown = await rows();
            return shown.length === 31 && Bun.stringWidth(shown[30]!) >= columns - 2;
          }, recording.feed);
          expect(shown[29]).toBe('30');
          expect(shown[30]).toMatch(/^\d+\.\d MB: \d+ record/);
        }
        recording.end();
        let shown: string[] = [];
        await until(
          async () => {
            shown = await rows();
            return shown.at(-1) === 'after';
          },
          () => undefined,
        );
        expect(shown.filter((row) => row.includes(' MB'))).toEqual([]);
      } finally {
        await tmux('kill-server');
      }
    },
  );

  test('is not written if stderr is not a terminal, nor with --json on a terminal', async () => {
    using directory = temporaryDirectory();
    const cwd = directory.path;
    const seeded = await runCommand(['seed', '--data', 'data'], { cwd });
    expect({ code: seeded.code, stderr: seeded.stderr }).toEqual({ code: 0, stderr: '' });
    const { child, screen } = onTerminal(['verify', '--json', '--data', 'data'], cwd, 80);
    expect(await child.exited).toBe(0);
    child.terminal?.close();
    expect(screen.written).not.toContain('\u001b');
    expect(JSON.parse(screen.written)).toMatchObject({ ok: true });
    expect(JSON.parse(await outputOf(['verify', '--json', '--data', 'data'], { cwd }))).toMatchObject({ ok: true });
  });
});

describe('colours', () => {
  test.each([
    ['', '\u001b[31mbookreel:\u001b[39m there is no archive'],
    ['1', 'bookreel: there is no archive'],
    ['0', 'bookreel: there is no archive'],
  ])('are shown on a terminal, with NO_COLOR=%j only if it is empty', async (noColor, expected) => {
    using directory = temporaryDirectory();
    const { child, screen } = onTerminal(['status', '--data', 'none'], directory.path, 200, noColor);
    expect(await child.exited).toBe(1);
    child.terminal?.close();
    expect(screen.written).toStartWith(expected);
  });
});
