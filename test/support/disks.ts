import { expect } from 'bun:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { temporaryDirectory } from './archive.ts';

interface SmallDisk extends Disposable {
  readonly path: string;
  /** `size` as mount(8) takes it: `64k`, `2m`. */
  resize(size: string): void;
  /** Uses all free space, to the last byte, or releases it again. */
  fill(full: boolean): void;
  /** Fails while any process has a file open for writing. */
  becomeReadOnly(): void;
}

const silently = { stdout: 'ignore', stderr: 'ignore' } as const;
const ran = (...command: string[]) => Bun.spawnSync(command, silently).exitCode === 0;
const mayMount = () => process.getuid?.() === 0 && Bun.which('mount') !== null;

/** A file system in memory; undefined when it cannot be mounted, which needs root. */
export function smallDisk(parent: string, size: string): SmallDisk | undefined {
  const path = join(parent, 'disk');
  mkdirSync(path, { recursive: true });
  if (!mayMount() || !ran('mount', '-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'tmpfs', path)) return undefined;
  const ballast = join(path, 'ballast');
  return {
    path,
    resize: (to) => expect(ran('mount', '-o', `remount,size=${to}`, path)).toBe(true),
    fill: (full) => {
      // dd must end with an error: the disk is full.
      if (full) expect(ran('dd', 'if=/dev/zero', `of=${ballast}`, 'bs=4k')).toBe(false);
      else expect(ran('rm', ballast)).toBe(true);
    },
    becomeReadOnly: () => expect(ran('mount', '-o', 'remount,ro', path)).toBe(true),
    [Symbol.dispose]: () => expect(ran('umount', path)).toBe(true),
  };
}

/** A directory of the disk of `parent` into which no links can be made; undefined when it cannot be mounted. */
export function unlinkedDisk(parent: string): (Disposable & { readonly path: string }) | undefined {
  const path = join(parent, 'bound');
  mkdirSync(path, { recursive: true });
  if (!mayMount() || !ran('mount', '--bind', path, path)) return undefined;
  return { path, [Symbol.dispose]: () => expect(ran('umount', path)).toBe(true) };
}

interface FailingDisk extends Disposable {
  readonly path: string;
  /** Open files can still be read, but not written. */
  becomeReadOnly(): void;
  /** No process may have files open. */
  repair(): void;
}

/** An ext4 file system in a file, in which the kernel can simulate an error; undefined when it cannot be mounted. */
export function failingDisk(parent: string): FailingDisk | undefined {
  const path = join(parent, 'failing');
  const image = join(parent, 'failing.img');
  mkdirSync(path, { recursive: true });
  if (!mayMount() || Bun.which('mkfs.ext4') === null || Bun.which('findmnt') === null) return undefined;
  const mounted = () => ran('mount', '-o', 'loop,errors=remount-ro', image, path);
  if (!ran('truncate', '-s', '96M', image) || !ran('mkfs.ext4', '-q', '-F', image) || !mounted()) return undefined;
  const device = Bun.spawnSync(['findmnt', '-n', '-o', 'SOURCE', path]).stdout.toString().trim();
  const trigger = join('/sys/fs/ext4', basename(device), 'trigger_fs_error');
  const disk = {
    path,
    becomeReadOnly: () => writeFileSync(trigger, 'test'),
    repair: () => {
      expect(ran('umount', path)).toBe(true);
      // 1: errors were corrected.
      expect(Bun.spawnSync(['e2fsck', '-p', '-f', image], silently).exitCode).toBeLessThan(2);
      expect(mounted()).toBe(true);
    },
    [Symbol.dispose]: () => expect(ran('umount', path)).toBe(true),
  };
  if (existsSync(trigger)) return disk;
  disk[Symbol.dispose]();
  return undefined;
}

/** Whether this machine can make such a disk. */
export function hasDisk(make: (parent: string) => Disposable | undefined): boolean {
  using directory = temporaryDirectory();
  using disk = make(directory.path);
  return disk !== undefined;
}
