import { expect } from 'bun:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { isRoot } from './machine.ts';

const ran = (...command: string[]) => Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0;

interface SmallDisk extends Disposable {
  readonly path: string;
  /** Takes all the space that is left, to the last byte, until it is called again. */
  fill(full: boolean): void;
  /** Whoever has a file open for writing keeps a disk from it. */
  becomeReadOnly(): void;
}

/** A file system of its own in memory, which only root may mount; undefined where it cannot be. */
export function smallDisk(parent: string, sizeMib: number): SmallDisk | undefined {
  const path = join(parent, 'disk');
  mkdirSync(path, { recursive: true });
  if (!isRoot() || !ran('mount', '-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'tmpfs', path)) return undefined;
  const ballast = join(path, 'ballast');
  return {
    path,
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
}

/** An ext4 in a file, which its kernel can be told to find an error in; undefined where there is none to be had. */
export function failingDisk(parent: string): FailingDisk | undefined {
  const path = join(parent, 'failing');
  const image = join(parent, 'failing.img');
  mkdirSync(path, { recursive: true });
  if (!isRoot() || Bun.which('mkfs.ext4') === null || Bun.which('findmnt') === null) return undefined;
  if (!ran('truncate', '-s', '64M', image) || !ran('mkfs.ext4', '-q', '-F', image)) return undefined;
  if (!ran('mount', '-o', 'loop,errors=remount-ro', image, path)) return undefined;
  const device = Bun.spawnSync(['findmnt', '-n', '-o', 'SOURCE', path]).stdout.toString().trim();
  const trigger = join('/sys/fs/ext4', basename(device), 'trigger_fs_error');
  const disk = {
    path,
    becomeReadOnly: () => writeFileSync(trigger, 'test'),
    [Symbol.dispose]: () => expect(ran('umount', path)).toBe(true),
  };
  if (existsSync(trigger)) return disk;
  disk[Symbol.dispose]();
  return undefined;
}

/** What a machine lacks for one of these; undefined when nothing. */
export function lacksDisk(make: (parent: string) => Disposable | undefined, kind: string): string | undefined {
  using directory = temporaryDirectory();
  using disk = make(directory.path);
  return disk === undefined ? `to mount ${kind}` : undefined;
}
