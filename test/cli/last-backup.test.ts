import { expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { LAST_BACKUP_FILE, readLastBackup } from '../../src/store/last-backup.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';

const HOUR_MS = 3_600_000;

/** A data directory with a key, and commands on it at a time that the test sets. */
async function place() {
  const directory = temporaryDirectory();
  const [data, target] = [join(directory.path, 'data'), join(directory.path, 'kept')];
  mkdirSync(data, { mode: 0o700 });
  const now = { ms: Date.now() };
  const command = async (...words: readonly string[]) => {
    const terminal = { ...captured(), clock: () => now.ms };
    const code = await run([...words, '--data', data], terminal);
    return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
  };
  expect((await command('key', 'create', '--tier', 'pro')).code).toBe(0);
  const findings = async () => {
    const { checks } = JSON.parse((await command('doctor', '--json')).stdout) as {
      checks: { check: string; findings: string[] }[];
    };
    return checks.find(({ check }) => check === 'backup')!.findings;
  };
  return { ...directory, data, target, now, command, findings, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

test('How a backup ends is recorded, and doctor reports one that is missing, failed or is too old.', async () => {
  using held = await place();
  const { data, target, now, command, findings } = held;
  expect(await findings()).toEqual([expect.stringMatching(/^no backup was made yet: run 'systemctl enable --now/)]);
  expect((await command('backup', target, '--keep', '2')).code).toBe(0);
  const [name] = readdirSync(target);
  expect(readLastBackup(data)).toEqual({ succeededMs: now.ms, directory: join(target, name!) });
  expect(statSync(join(data, LAST_BACKUP_FILE)).mode & 0o777).toBe(0o600);
  now.ms += 36 * HOUR_MS;
  expect(await findings()).toEqual([]);
  now.ms += 1;
  expect(await findings()).toEqual([expect.stringMatching(/^the last backup is of 2\S+Z: run /)]);

  const failed = await command('backup', join(target, name!));
  expect(failed.code).toBe(1);
  expect(await findings()).toEqual([
    `the backup of ${new Date(now.ms).toISOString()} failed: ${failed.stderr.replace(/^bookreel: |\n$/g, '')}`,
  ]);
  expect(readLastBackup(data)).toMatchObject({ succeededMs: now.ms - 36 * HOUR_MS - 1, failedMs: now.ms });
  now.ms += 1;
  expect((await command('backup', target, '--keep', '2')).code).toBe(0);
  expect(await findings()).toEqual([]);
});

test('Wrong usage of backup is not a failed backup, a missing archive gets no record, and a damaged record is replaced.', async () => {
  using held = await place();
  const { data, target, command } = held;
  expect((await command('backup', join(data, 'inside'))).code).toBe(2);
  expect(existsSync(join(data, LAST_BACKUP_FILE))).toBe(false);
  const none = join(held.path, 'none');
  expect(await run(['backup', target, '--data', none], captured())).toBe(1);
  expect(existsSync(none)).toBe(false);
  for (const text of ['{', '[]', '{"succeededMs":"x"}']) {
    writeFileSync(join(data, LAST_BACKUP_FILE), text);
    expect(readLastBackup(data)).toEqual({});
    expect((await command('backup', target)).code).toBe(0);
    expect(readLastBackup(data).directory).toBe(target);
    rmSync(target, { recursive: true });
  }
});

test('A backup that would take the disk of the archive below its floor is refused before anything is written.', async () => {
  using held = await place();
  const { target, command } = held;
  const { code, stderr } = await command('backup', target, '--keep', '2', '--disk-floor', '9999TB');
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^bookreel: the disk of '.*\/kept' has [\d.]+ MB left, and this needs up to [\d.]+ MB, besides the 9999TB of --disk-floor: free some space, or name a directory on another disk\n$/,
  );
  expect(existsSync(target)).toBe(false);
});

test.skipIf(!hasDisk((parent) => smallDisk(parent, '8m')))(
  'A backup of an archive on a full disk says in a sentence that it was not recorded (needs root).',
  async () => {
    using held = await place();
    using disk = smallDisk(held.path, '8m')!;
    const data = join(disk.path, 'data');
    cpSync(held.data, data, { recursive: true });
    disk.fill(true);
    const terminal = captured();
    expect(await run(['backup', held.target, '--data', data], terminal)).toBe(0);
    expect(terminal.stderr()).toMatch(
      /^metrics and doctor [^\n]*: the disk is full, '[^\n]*\/data' cannot grow: [^\n]*\n\d/,
    );
  },
);

test.skipIf(!hasDisk((parent) => smallDisk(parent, '64k')))(
  'The floor is not kept on another disk, where only room for the copies is needed (needs root).',
  async () => {
    using held = await place();
    using disk = smallDisk(held.path, '64k')!;
    const at = (...more: string[]) =>
      held.command('backup', join(disk.path, 'copy'), '--disk-floor', '9999TB', ...more);
    const { code, stderr } = await at();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/has 0\.1 MB left, and this needs up to 0\.\d MB: free/)]);
    expect(readdirSync(disk.path)).toEqual([]);
    disk.resize('8m');
    expect((await at()).code).toBe(0);
  },
);
