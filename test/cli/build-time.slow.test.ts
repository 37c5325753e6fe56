import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { refuseEarlyClock } from '../../src/cli/build-time.ts';
import { faketimeLibrary } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { finished, runExecutable } from '../support/executable.ts';

const ROOT = join(import.meta.dir, '..', '..');
const COMMITTED_MS = Date.parse('2026-11-22T12:00:00Z');
const DAY_MS = 86_400_000;
const FAKETIME = faketimeLibrary();

describe('a clock before the time of the sources', () => {
  test('is refused if it is more than a day before', () => {
    for (const nowMs of [COMMITTED_MS - DAY_MS, COMMITTED_MS, COMMITTED_MS + 100 * DAY_MS]) {
      expect(() => refuseEarlyClock(nowMs, COMMITTED_MS)).not.toThrow();
    }
    for (const [nowMs, said] of [
      [COMMITTED_MS - DAY_MS - 1, '2026-11-21T11:59:59.999Z'],
      [0, '1970-01-01T00:00:00.000Z'],
      [-DAY_MS, '1970-01-01T00:00:00.000Z'],
    ] as const) {
      expect(() => refuseEarlyClock(nowMs, COMMITTED_MS)).toThrow(
        `the clock says ${said}, and this program was built from sources of 2026-11-22T12:00:00.000Z: set the clock`,
      );
    }
  });

  test('is not known to sources that were not built', () => {
    expect(() => refuseEarlyClock(0)).not.toThrow();
  });

  test('serve refuses a clock more than a day before the last commit, other commands work, and config check says so.', async () => {
    using directory = temporaryDirectory();
    // Sources of the year 2100.
    const sources = [process.execPath, '--define', 'SOURCE_DATE_EPOCH=4102444800', join(ROOT, 'src', 'main.ts')];
    const args = ['--data', join(directory.path, 'data'), '--port', '0'];
    for (const [words, code] of [
      [['serve'], 1],
      [['config', 'check'], 2],
    ] as const) {
      const ended = await finished([...sources, ...words, ...args], {});
      expect(ended).toMatchObject({ code, stdout: '' });
      expect(ended.stderr).toMatch(
        /^bookreel: the clock says 20.+, and this program was built from sources of 2100-01-01T00:00:00.000Z: set the clock, .+\n$/,
      );
    }
    expect(readdirSync(directory.path)).toEqual([]);
  });

  test.skipIf(FAKETIME === undefined)('is refused by the executable as it was built (needs faketime)', async () => {
    using directory = temporaryDirectory();
    const env = { LD_PRELOAD: FAKETIME!, FAKETIME: '@2020-01-01 00:00:00' };
    const ended = await runExecutable(['serve', '--data', directory.path, '--port', '0'], { env });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('the clock says 2020-01-01T');
  });
});
