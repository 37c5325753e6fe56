import { expect } from 'bun:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { temporaryDirectory } from './archive.ts';

interface SmallDisk extends Disposable {
  readonly path: string;
  /** `size` as mount(8) takes it: `64k`, `2m`. */
  resize(size: string): void;
  /** Takes all the space that is left, to the last byte, until it is called again. */
  fill(full: boolean): void;
  /** Whoever has a file open for writing keeps a disk from it. */
  becomeReadOnly(): void;
}

const silently = { stdout: 'ignore', stderr: 'ignore' } as const;
const ran = (...command: string[]) => Bun.spawnSync(command, silently).exitCode === 0;
const mayMount = () => process.getuid?.() === 0 && Bun.which('mount') !== null;

/** A file system of its own in memory, which only root may mount; undefined where it cannot be. */
export function smallDisk(parent: string, size: string): SmallDisk | undefined {
  const path = join(parent, 'disk');
  mkdirSync(path, { recursive: true });
  if (!mayMount() || !ran('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path)) return undefined;
  const ballast = join(path, 'ballast');
  return {
    path,
    resize: (to) => expect(ran('mount', '-o', `remount,size=${to}`, path)).toBe(true),
    fill: (full) => {
      // dd ends with an error when the disk is full, which is what it is for.
      if (full) expect(ran('dd', 'if=/dev/zero', `of=${ballast}`, 'bs=4k')).toBe(false);
      else expect(ran('rm', ballast)).toBe(true);
    },
    becomeReadOnly: () => expect(ran('mount', '-o', 'remount,ro', path)).toBe(true),
    [Symbol.dispose]: () => expect(ran('umount', path)).toBe(true),
  };
}

interface FailingDisk extends Disposable {
  readonly path: string;
  /** Whoever has files open there can read them, and no longer write. */
  becomeReadOnly(): void;
  /** Nobody may have files open. */
  repair(): void;
}

/** An ext4 in a file, which its kernel can be told to find an error in; undefined where there is none to be had. */
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
      // 1: errors were found and put right.
      expect(Bun.spawnSync(['e2fsck', '-p', '-f', image], silently).exitCode).toBeLessThan(2);
      expect(mounted()).toBe(true);
    },
    [Symbol.dispose]: () => expect(ran('umount', path)).toBe(true),
  };
  if (existsSync(trigger)) return disk;
  disk[Symbol.dispose]();
  return undefined;
}

/** Whether this machine lets us have a disk of a kind. */
export function hasDisk(make: (parent: string) => Disposable | undefined): boolean {
  using directory = temporaryDirectory();
  using disk = make(directory.path);
  return disk !== undefined;
}
