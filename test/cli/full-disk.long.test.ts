import { describe, expect, test } from 'bun:test';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';
import { issueKey, printed, runExecutable, startServer } from '../support/executable.ts';
import { LIGHT_MARKET, lightNdjson } from '../support/light-recording.ts';

const PAGE = `/v1/btc/markets/${LIGHT_MARKET.slug}/snapshots?limit=3`;
const OTHER = { ...LIGHT_MARKET, conditionId: '0xcd', slug: 'other', clobTokenIds: ['21', '22'] };

describe.skipIf(!hasDisk((parent) => smallDisk(parent, '1m')))('on a full disk (needs root)', () => {
  /** An archive with a key on a small disk. */
  async function archive() {
    const directory = temporaryDirectory();
    const disk = smallDisk(directory.path, '32m')!;
    const data = join(disk.path, 'data');
    const stdin = lightNdjson(20_000) + JSON.stringify(OTHER);
    await printed(['import', '-', '--data', data, '--disk-floor', '0'], { stdin });
    const { key } = await issueKey(data);
    const headers = { authorization: `Bearer ${key}` };
    return {
      ...{ data, disk },
      page: async (origin: string) => await fetch(`${origin}${PAGE}`, { headers }),
      [Symbol.dispose]: () => {
        disk[Symbol.dispose]();
        directory[Symbol.dispose]();
      },
    };
  }

  test('A server starts on a full disk and writes nothing; when there is space again, it writes.', async () => {
    using place = await archive();
    const { data, disk, page } = place;
    disk.fill(true);
    await using server = await startServer(data, ['--public-url', 'http://127.0.0.1:8080']);
    expect((await page(server.origin)).status).toBe(200);
    expect((await fetch(`${server.origin}/readyz`)).status).toBe(200);
    expect(existsSync(join(data, 'bookreel.db-wal'))).toBe(false);
    disk.fill(false);
    await until('it writes', () => existsSync(join(data, 'bookreel.db-wal')));
    await until('it answers', async () => (await page(server.origin).catch(() => undefined))?.status === 200);
    expect(await server.stop()).toBe(0);
    const log = await server.log;
    expect(log).toContain("is full: nothing is written, and accounts and payments are off, until 'bookreel delete'");
    expect(log).toContain('the disk has space again');
    expect(log).not.toContain('"level":"error"');
  });

  test.each([true, false])(
    'Deletions free space on a full disk from the reserve of a server (server running: %p).',
    async (isRunning) => {
      using place = await archive();
      const { data, disk, page } = place;
      await using first = await startServer(data);
      await first.stop();
      const reserve = join(data, 'reserve');
      expect(statSync(reserve)).toMatchObject({ mode: 0o100600 });
      disk.fill(true);
      await using server = isRunning ? await startServer(data) : undefined;
      const before = statSync(join(data, 'bookreel.db')).size;
      const { code, stdout, stderr } = await runExecutable(['delete', '--market', LIGHT_MARKET.slug, '--data', data], {
        env: { SUDO_USER: 'ada' },
      });
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('1 market with');
      expect(statSync(join(data, 'bookreel.db')).size).toBeLessThan(before);
      expect(await printed(['audit', '--data', data, '--limit', '1'])).toMatch(/recordings\.delete +ada \(command\)/);
      expect((await runExecutable(['verify', '--data', data])).code).toBe(0);
      if (server === undefined) return;
      await until(
        'the server shows it',
        async () => (await page(server.origin).catch(() => undefined))?.status === 404,
      );
      expect(await server.stop()).toBe(0);
    },
  );
});
