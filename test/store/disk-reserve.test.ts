import { expect, test } from 'bun:test';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Database } from '../../src/store/database.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { keepReserve, makeRoom, RESERVE_FILE } from '../../src/store/disk-reserve.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { hasDisk, smallDisk } from '../support/disks.ts';

const MIB = 1024 ** 2;

const HAS_DISK = hasDisk((parent) => smallDisk(parent, '8m'));

test.skipIf(!HAS_DISK)(
  'The reserve is an eighth of the free space, at least 2 and at most 16 MiB, and grows with the disk (needs root).',
  () => {
    using parent = temporaryDirectory();
    using disk = smallDisk(parent.path, '12m')!;
    const bytes = () => statSync(join(disk.path, RESERVE_FILE), { throwIfNoEntry: false })?.size;
    keepReserve(disk.path);
    expect(bytes()).toBeUndefined();
    disk.resize('24m');
    keepReserve(disk.path);
    expect(bytes()).toBeWithin(2 * MIB, 3 * MIB + 1);
    disk.resize('400m');
    for (let again = 0; again < 2; again += 1) keepReserve(disk.path);
    expect(bytes()).toBe(16 * MIB);
  },
);

test.skipIf(!HAS_DISK)(
  'Room is made in the directory of an archive only: elsewhere a file of this name is not a reserve (needs root).',
  () => {
    using parent = temporaryDirectory();
    using disk = smallDisk(parent.path, '8m')!;
    const path = join(disk.path, RESERVE_FILE);
    writeFileSync(path, 'of somebody else');
    makeRoom(disk.path);
    expect(existsSync(path)).toBe(true);
    writeFileSync(join(disk.path, 'bookreel.db'), '');
    makeRoom(disk.path);
    expect(existsSync(path)).toBe(false);
  },
);

test.skipIf(!HAS_DISK)(
  'Nothing opens a database to write on a full disk, where it would leave empty files that end a server (needs root).',
  () => {
    using parent = temporaryDirectory();
    using disk = smallDisk(parent.path, '8m')!;
    Database.open(disk.path, RECORDINGS, { create: true }).close();
    disk.fill(true);
    using reader = Database.open(disk.path, RECORDINGS, { create: false, readOnly: true });
    expect(() => Database.open(disk.path, RECORDINGS, { create: false })).toThrow(
      /^the disk is full, '.*' cannot grow: /,
    );
    expect(readdirSync(disk.path).sort()).toEqual(['ballast', 'bookreel.db']);
    expect(reader.readShared(() => 'read')).toBe('read');
  },
);
