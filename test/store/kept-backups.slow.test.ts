import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { backUpAndKeep } from '../../src/store/kept-backups.ts';
import { restore } from '../../src/store/restore.ts';
import { importBytes, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { lightNdjson } from '../support/light-recording.ts';
import { contentDigest } from '../support/stored.ts';

const DAY_MS = 24 * 3600 * 1000;

async function archive() {
  const held = temporaryArchive();
  await importBytes(held.archive, Buffer.from(lightNdjson(3)));
  const data = dirname(held.archive.database.path);
  return { ...held, data, [Symbol.dispose]: () => held[Symbol.dispose]() };
}

const nameOf = (ms: number) => `bookreel-${new Date(ms).toISOString().replaceAll(':', '-')}`;
const check = async () => undefined;

describe('backups of which a number is kept', () => {
  test('are named by time; the oldest are deleted, and each that stays can be restored', async () => {
    using place = await archive();
    using directory = temporaryDirectory();
    const kept = join(directory.path, 'kept');
    const days = [0, 1, 2, 3, 4].map((day) => NOW_MS + day * DAY_MS);
    const deleted: string[] = [];
    for (const nowMs of days) {
      const backup = await backUpAndKeep(place.data, kept, () => nowMs, { keep: 3, check });
      expect(backup.directory).toBe(join(kept, nameOf(nowMs)));
      deleted.push(...backup.deleted);
    }
    expect(readdirSync(kept).sort()).toEqual(days.slice(2).map(nameOf));
    expect(deleted).toEqual(days.slice(0, 2).map(nameOf));
    for (const name of readdirSync(kept)) {
      const again = join(directory.path, `again-${name}`);
      await restore(join(kept, name), again, { force: false, check });
      expect(contentDigest(again)).toBe(contentDigest(place.data));
    }
  });

  test('backup --keep proves each new backup by restoring it, and never deletes a directory that has anything but a backup.', async () => {
    using place = await archive();
    using directory = temporaryDirectory();
    const own = ['bookreel-monday', nameOf(NOW_MS - 9 * DAY_MS), 'notes'];
    for (const name of own) {
      mkdirSync(join(directory.path, name));
      writeFileSync(join(directory.path, name, 'mine.txt'), 'mine');
    }
    const first = await backUpAndKeep(place.data, directory.path, () => NOW_MS, { keep: 1, check });
    writeFileSync(join(first.directory, 'mine.txt'), 'mine');
    const next = await backUpAndKeep(place.data, directory.path, () => NOW_MS + DAY_MS, { keep: 1, check });
    expect(next.deleted).toEqual([]);
    const all = [...own, nameOf(NOW_MS), nameOf(NOW_MS + DAY_MS)];
    expect(readdirSync(directory.path).sort()).toEqual(all.sort());
  });

  test('have the new one, even if the clock went back', async () => {
    using place = await archive();
    using directory = temporaryDirectory();
    for (const nowMs of [NOW_MS, NOW_MS + DAY_MS, NOW_MS - DAY_MS]) {
      await backUpAndKeep(place.data, directory.path, () => nowMs, { keep: 2, check });
    }
    expect(readdirSync(directory.path).sort()).toEqual([NOW_MS - DAY_MS, NOW_MS + DAY_MS].map(nameOf));
  });

  test.each([
    ['the copy', 1],
    ['the archive that was restored from it', 2],
  ])('stay if %s has a fault, and the new one does not', async (_, faulty) => {
    using place = await archive();
    using directory = temporaryDirectory();
    await backUpAndKeep(place.data, directory.path, () => NOW_MS, { keep: 1, check });
    let checks = 0;
    const failing = async () => {
      checks += 1;
      if (checks === faulty) throw new Error('a fault');
    };
    const options = { keep: 1, check: failing };
    await expect(backUpAndKeep(place.data, directory.path, () => NOW_MS + DAY_MS, options)).rejects.toThrow('a fault');
    expect(readdirSync(directory.path)).toEqual([nameOf(NOW_MS)]);
  });

  test.each([
    ['there is no archive', 'there is no archive', (path: string) => [join(path, 'none'), join(path, 'kept')]],
    ['they would be in it', 'lies in the data directory', (path: string) => [path, join(path, 'kept')]],
  ])('are refused if %s, and no directory is left', async (_, sentence, named) => {
    using place = await archive();
    const [data, kept] = named(place.data) as [string, string];
    await expect(backUpAndKeep(data, kept, () => NOW_MS, { keep: 1, check })).rejects.toThrow(sentence);
    expect(existsSync(kept)).toBe(false);
  });

  test('delete what a killed one left more than a day ago', async () => {
    using place = await archive();
    using directory = temporaryDirectory();
    const [old, recent] = [`${nameOf(0)}.partial-0123456789ab`, 'restored.partial-0123456789ab'];
    for (const name of [old, recent]) mkdirSync(join(directory.path, name));
    for (const [name, ageMs] of [[old, DAY_MS + 1000] as const, [recent, DAY_MS - 1000] as const]) {
      const changed = (NOW_MS - ageMs) / 1000;
      utimesSync(join(directory.path, name), changed, changed);
    }
    await backUpAndKeep(place.data, directory.path, () => NOW_MS, { keep: 1, check });
    expect(readdirSync(directory.path).sort()).toEqual([nameOf(NOW_MS), recent]);
  });
});
