import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { closeSync, createReadStream, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

setDefaultTimeout(600_000);

/** The documented maximum, for any input. */
const RESIDENT_BYTES_MAX = 300 * 1024 * 1024;
const INPUT_BYTES = 320 * 1024 * 1024;
const BLOCK_LINES = 300;

/** Lines of books with a hundred levels, 3 kB each. Some sizes change from book to book. */
function block(from: number): Buffer {
  const lines = Array.from({ length: BLOCK_LINES }, (_, k) => {
    const i = from + k;
    const side = (start: number, step: number) =>
      Array.from({ length: 50 }, (_, level) => ({
        price: Math.round((start + step * level) * 100) / 100,
        size: (10_000 + 100 * level + ((i + level) % 10 === 0 ? i % 977 : 0)) / 100,
      }));
    return JSON.stringify(
      sampleSnapshot({ timestamp: START_MS + i * 10, bids: side(0.5, -0.01), asks: side(0.51, 0.01) }),
    );
  });
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** Books of `INPUT_BYTES` in total. */
function* books(): Generator<Buffer> {
  yield Buffer.from(`${JSON.stringify(sampleMarket())}\n`);
  let bytes = 0;
  for (let from = 0; bytes < INPUT_BYTES; from += BLOCK_LINES) {
    const lines = block(from);
    bytes += lines.length;
    yield lines;
  }
}

interface Import {
  readonly code: number;
  /** The maximum resident memory of the process, from /proc. */
  readonly residentBytesMax: number;
  readonly total: { readonly read: number; readonly stored: number; readonly rejected: number };
}

/** Imports `path`, or `input` if `path` is `-`. */
async function imported(data: string, path: string, input?: AsyncIterable<Buffer>): Promise<Import> {
  const child = Bun.spawn([EXECUTABLE, 'import', path, '--json', '--data', data], {
    stdin: input === undefined ? 'ignore' : 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const output = new Response(child.stdout).text();
  let residentBytesMax = 0;
  const watch = setInterval(() => {
    residentBytesMax = Math.max(residentBytesMax, residentBytesMaxOf(child.pid));
  }, 20);
  try {
    if (input !== undefined) {
      for await (const part of input) {
        child.stdin!.write(part);
        await child.stdin!.flush();
      }
      await child.stdin!.end();
    }
    const code = await child.exited;
    const { total } = JSON.parse(await output) as Pick<Import, 'total'>;
    return { code, residentBytesMax, total };
  } finally {
    clearInterval(watch);
    child.kill('SIGKILL');
  }
}

function residentBytesMaxOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    // The process has ended: the earlier readings count.
    return 0;
  }
}

const directory = temporaryDirectory();
const path = join(directory.path, 'books.ndjson');
beforeAll(() => {
  if (!existsSync('/proc/self/status')) return;
  const file = openSync(path, 'w');
  for (const part of books()) writeSync(file, part);
  closeSync(file);
}, 300_000);
afterAll(() => directory[Symbol.dispose]());

test.skipIf(!existsSync('/proc/self/status'))(
  'a pipe of more books than fit in memory is imported without (needs /proc)',
  async () => {
    const { code, residentBytesMax, total } = await imported(
      join(directory.path, 'piped'),
      '-',
      createReadStream(path),
    );
    expect(code).toBe(0);
    expect(total.rejected).toBe(0);
    expect(total.stored).toBe(total.read);
    expect(total.read).toBeGreaterThan(100_000);
    expect(residentBytesMax).toBeGreaterThan(0);
    expect(residentBytesMax).toBeLessThan(RESIDENT_BYTES_MAX);
  },
);

test.skipIf(!existsSync('/proc/self/status'))('so is a file of them (needs /proc)', async () => {
  const { code, residentBytesMax, total } = await imported(join(directory.path, 'data'), path);
  expect(code).toBe(0);
  expect(total.stored).toBe(total.read);
  expect(residentBytesMax).toBeGreaterThan(0);
  expect(residentBytesMax).toBeLessThan(RESIDENT_BYTES_MAX);
});
