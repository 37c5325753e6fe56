import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfigFile } from '../../src/cli/config-file.ts';
import { SETTINGS } from '../../src/config.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { settingsOf } from './unit.ts';

const pathOf = (name: string) => join(import.meta.dir, '../../src/package', name);
const UNIT = settingsOf(readFileSync(pathOf('bookreel.service'), 'utf8'));
const RECORDER = settingsOf(readFileSync(pathOf('bookreel-recorder.service'), 'utf8'));
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

  test
    .skipIf(Bun.which('systemd-analyze') === null)
    .each(['bookreel.service', 'bookreel-recorder.service', 'bookreel-backup.service', 'bookreel-seal.service'])(
    'is rated as safe by systemd: %s (needs systemd-analyze)',
    (name) => {
      const command = ['systemd-analyze', 'security', '--offline=true', '--no-pager', '--threshold=20', pathOf(name)];
      const { exitCode, stdout, stderr } = Bun.spawnSync(command);
      expect({ exitCode, said: `${stdout}${stderr}`.trim().split('\n').at(-1) }).toMatchObject({ exitCode: 0 });
    },
  );

  test('has a recorder beside it, of its data and by its user, which may do no more than the server', () => {
    expect(RECORDER).toMatchObject({
      ExecStart: ['/usr/bin/bookreel record --raw 1d --config /etc/bookreel/bookreel.toml'],
      MemoryMax: ['1G'],
      CapabilityBoundingSet: [''],
      WantedBy: ['multi-user.target'],
    });
    // It is a client only, and no file of it is a secret.
    const ofServer = [
      'Description',
      'After',
      'ExecStart',
      'ExecReload',
      'RestartSec',
      'TimeoutStopSec',
      'LoadCredential',
      // It may be several processes.
      'TasksMax',
    ];
    const differing = [...ofServer, 'AmbientCapabilities', 'CapabilityBoundingSet'];
    for (const [name, values] of Object.entries(UNIT)) {
      if (!differing.includes(name)) expect({ name, values: RECORDER[name] }).toEqual({ name, values });
    }
  });

  test('the package installs every unit, and the maintainer scripts know those that run', () => {
    const units = readdirSync(pathOf('.')).filter((name) => /\.(?:service|timer)$/.test(name));
    const texts = (names: readonly string[]) => names.map((name) => readFileSync(pathOf(name), 'utf8'));
    for (const unit of units) {
      for (const text of texts(['deb.sh', 'release.sh'])) expect(text).toContain(unit);
      if (settingsOf(readFileSync(pathOf(unit), 'utf8')).WantedBy === undefined) continue;
      for (const text of texts(['postinst', 'prerm', 'postrm'])) expect(text).toContain(unit);
    }
  });

  test('has a backup every day, of its data and by its user, which limits what the server limits', () => {
    expect(BACKUP).toMatchObject({
      Type: ['oneshot'],
      ExecStart: ['/usr/bin/bookreel backup --keep 7 --config /etc/bookreel/bookreel.toml'],
    });
    expect(SETTINGS.backupTo.fallback).toBe('/var/backups/bookreel');
    expect(BACKUP.OnFailure).toEqual(['bookreel-backup-failed.service']);
    for (const name of [
      'User',
      'Group',
      'UMask',
      'UnsetEnvironment',
      'MemoryMax',
      'SystemCallFilter',
      'RestrictAddressFamilies',
      'LoadCredential',
    ]) {
      expect(BACKUP[name]).toEqual(UNIT[name]!);
    }
    expect(settingsOf(readFileSync(pathOf('bookreel-backup.timer'), 'utf8'))).toMatchObject({
      OnCalendar: ['*-*-* 02:30:00 UTC'],
      Persistent: ['true'],
      WantedBy: ['timers.target'],
    });
  });
});

test('A unit seals every hour where no recorder does, by the user of the server, and is limited like the backup.', () => {
  const [seal, timer] = ['bookreel-seal.service', 'bookreel-seal.timer'].map((name) =>
    settingsOf(readFileSync(pathOf(name), 'utf8')),
  );
  expect(seal).toMatchObject({
    Type: ['oneshot'],
    ExecStart: ['/usr/bin/bookreel seal --config /etc/bookreel/bookreel.toml'],
    ProtectSystem: ['strict'],
    StateDirectory: ['bookreel'],
    PrivateNetwork: ['yes'],
  });
  for (const name of ['User', 'Group', 'Nice', 'MemoryMax', 'SystemCallFilter']) {
    expect(seal![name]).toEqual(BACKUP[name]!);
  }
  expect(timer).toMatchObject({ OnCalendar: ['hourly'], Persistent: ['true'], WantedBy: ['timers.target'] });
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
