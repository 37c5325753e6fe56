import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { BackupWorkspaces, isServedTo } from '../support/backup-workspaces.ts';
import { EXECUTABLE } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { contentDigest } from '../support/stored.ts';

const workspaces = new BackupWorkspaces();
afterAll(async () => await workspaces[Symbol.asyncDispose]());

describe('a kill', () => {
  test('of a backup leaves no file of that name or a complete backup when it is killed', async () => {
    using workspace = await workspaces.archiveOf(20_000);
    const random = randomsOf(20_260_416);
    let none = 0;
    // Continues until three backups were killed before they were complete, also on a fast machine.
    for (let round = 0; round < 8 || (none < 3 && round < 60); round += 1) {
      const name = `copy-${round}`;
      const child = Bun.spawn([EXECUTABLE, 'backup', name, '--data', 'data'], {
        cwd: workspace.path,
        stdout: 'ignore',
        stderr: 'ignore',
      });
      await Bun.sleep(20 + random() * 200);
      child.kill('SIGKILL');
      await child.exited;
      if (!existsSync(workspace.file(name))) {
        none += 1;
        continue;
      }
      expect(await workspace.run('restore', name, '--data', `again-${round}`)).toMatchObject({ code: 0 });
    }
    expect(none).toBeGreaterThanOrEqual(3);
    expect((await workspace.run('verify', '--data', 'data')).code).toBe(0);
  }, 300_000);

  test('of a restore leaves no archive or a complete one when it is killed, and the previous one complete', async () => {
    using workspace = await workspaces.withBackup(20_000);
    const random = randomsOf(7);
    const before = contentDigest(workspace.file('data'));
    let interrupted = 0;
    for (let round = 0; round < 10 || (interrupted < 4 && round < 60); round += 1) {
      const data = round % 2 === 0 ? `again-${round}` : 'data';
      const args = ['restore', 'copy', '--data', data, ...(round % 2 === 0 ? [] : ['--force'])];
      const child = Bun.spawn([EXECUTABLE, ...args], { cwd: workspace.path, stdout: 'ignore', stderr: 'ignore' });
      await Bun.sleep(20 + random() * 160);
      child.kill('SIGKILL');
      if ((await child.exited) !== 0) interrupted += 1;
      if (existsSync(workspace.file(`${data}/bookreel.db`))) {
        expect(contentDigest(workspace.file(data))).toBe(before);
      } else {
        // Otherwise the kill came after the previous archive was renamed: the restore is run again.
        if (data === 'data') expect(workspace.names('data').some((name) => name.includes('before-restore'))).toBe(true);
        expect(await workspace.run('restore', 'copy', '--force', '--data', data)).toMatchObject({ code: 0 });
        expect(contentDigest(workspace.file(data))).toBe(before);
      }
    }
    expect(interrupted).toBeGreaterThanOrEqual(4);
    expect(await isServedTo(workspace.file('data'), workspace.key)).toBe(true);
  }, 300_000);
});
