import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingsOf } from './unit.ts';

const UNIT = settingsOf(readFileSync(join(import.meta.dir, '../../src/package/bookreel.service'), 'utf8'));

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

  test('limits memory, but no addresses and no machine code, which the JavaScript engine needs', () => {
    expect(UNIT.MemoryMax).toEqual(['1G']);
    for (const name of ['LimitAS', 'MemoryDenyWriteExecute']) expect(UNIT[name]).toBeUndefined();
  });

  test.skipIf(Bun.which('systemd-analyze') === null)('is rated as safe by systemd (needs systemd-analyze)', () => {
    const path = join(import.meta.dir, '../../src/package/bookreel.service');
    const command = ['systemd-analyze', 'security', '--offline=true', '--no-pager', '--threshold=20', path];
    const { exitCode, stdout, stderr } = Bun.spawnSync(command);
    expect({ exitCode, said: `${stdout}${stderr}`.trim().split('\n').at(-1) }).toMatchObject({ exitCode: 0 });
  });
});
