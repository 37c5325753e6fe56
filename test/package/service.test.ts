import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfigFile } from '../../src/cli/config-file.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { settingsOf } from './unit.ts';

const pathOf = (name: string) => join(import.meta.dir, '../../src/package', name);
const UNIT = settingsOf(readFileSync(pathOf('bookreel.service'), 'utf8'));
const BACKUP = settingsOf(readFileSync(pathOf('bookreel-backup.service'), 'utf8'));

describe('the service', () => {
  test('runs for its own user, with its data, its secrets and reload by SIGHUP', () => {
    expect(UNIT).toMatchObject({
      User: ['bookreel'],
      ExecStart: ['/usr/bin/bookreel serve --config /etc/bookreel/bookreel.toml'],
      ExecReload: ['/bin/kill -HUP $MAINPID'],
      StateDirectory: ['bookreel'],
      UMask: ['0077'],
      LoadCredential: ['secret:/etc/bookreel/secrets'],
      UnsetEnvironment: ['BUN_BE_BUN BUN_OPTIONS'],
    });
  });

  test('The service may map machine code, which the JavaScript engine writes, and has a limit of memory, not of addresses.', () => {
    expect(UNIT.MemoryMax).toEqual(['1G']);
    for (const name of ['LimitAS', 'MemoryDenyWriteExecute']) expect(UNIT[name]).toBeUndefined();
  });

  test.skipIf(Bun.which('systemd-analyze') === null).each(['bookreel.service', 'bookreel-backup.service'])(
    'is rated as safe by systemd: %s (needs systemd-analyze)',
    (name) => {
      const command = ['systemd-analyze', 'security', '--offline=true', '--no-pager', '--threshold=20', pathOf(name)];
      const { exitCode, stdout, stderr } = Bun.spawnSync(command);
      expect({ exitCode, said: `${stdout}${stderr}`.trim().split('\n').at(-1) }).toMatchObject({ exitCode: 0 });
    },
  );

  test('has a backup every day, of its data and by its user, which limits what the server limits', () => {
    expect(BACKUP).toMatchObject({
      Type: ['oneshot'],
      ExecStart: ['/usr/bin/bookreel backup /var/backups/bookreel --keep 7 --config /etc/bookreel/bookreel.toml'],
    });
    expect(BACKUP.OnFailure).toEqual(['bookreel-backup-failed.service']);
    for (const name of ['User', 'Group', 'UMask', 'UnsetEnvironment', 'MemoryMax', 'SystemCallFilter']) {
      expect(BACKUP[name]).toEqual(UNIT[name]!);
    }
    expect(settingsOf(readFileSync(pathOf('bookreel-backup.timer'), 'utf8'))).toMatchObject({
      OnCalendar: ['daily'],
      Persistent: ['true'],
      WantedBy: ['timers.target'],
    });
  });
});

test('the settings file is accepted as it is, and with all of its examples', () => {
  const packaged = readFileSync(pathOf('bookreel.toml'), 'utf8');
  using directory = temporaryDirectory();
  const path = join(directory.path, 'bookreel.toml');
  const examples = packaged.match(/^# [a-z-]+ = /gm)!.length;
  expect(examples).toBeGreaterThan(0);
  for (const [text, count] of [
    [packaged, 1],
    [packaged.replaceAll(/^# (?=[a-z-]+ = )/gm, ''), 1 + examples],
  ] as const) {
    writeFileSync(path, text);
    const { texts, problems } = readConfigFile(path);
    expect({ problems, count: texts.size }).toEqual({ problems: [], count });
  }
});
