import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { downloaded, isUrl, shownUrl } from '../import/download.ts';
import { type DiskFloor, refuseSmallDisk } from '../store/disk-floor.ts';
import { eraseLine, megabytes, progressOn } from './status-line.ts';
import { printable, type Terminal } from './terminal.ts';

/** Paths of an import, with downloaded files in place of URLs. */
export interface LocalPaths {
  readonly paths: readonly string[];
  /** What a downloaded file is called in reports, by its path. */
  readonly names: ReadonlyMap<string, string>;
  /** Removes the downloaded files. Without it the next command continues with them. */
  readonly discard: () => void;
}

/**
 * Downloads the URLs among the paths, into the data directory: a rehearsal creates none, so it has a directory of its own. Throws
 * 'unreadable' and 'unavailable'.
 */
export async function localPaths(
  terminal: Terminal,
  options: { readonly data: string; readonly diskFloor: DiskFloor; readonly dryRun?: true | undefined },
  paths: readonly string[],
  signal: AbortSignal,
): Promise<LocalPaths> {
  const names = new Map<string, string>();
  const local: string[] = [];
  const show = progressOn(terminal);
  const isRehearsal = options.dryRun === true && !existsSync(options.data);
  let place: string | undefined;
  for (const path of paths) {
    if (!isUrl(path)) {
      local.push(path);
      continue;
    }
    place ??= isRehearsal ? mkdtempSync(join(tmpdir(), 'bookreel-dry-run-')) : options.data;
    const directory = join(place, 'downloads');
    const beforeBytes = (bytes: number) => refuseSmallDisk(directory, bytes, directory, options.diskFloor);
    const onBytes = (bytes: number) => show(() => `${megabytes(bytes)} of ${printable(shownUrl(path))} received`);
    const file = await downloaded(path, { directory, signal, beforeBytes, onBytes });
    eraseLine(terminal);
    local.push(file);
    names.set(file, shownUrl(path));
  }
  const discard = () => {
    const made = isRehearsal && place !== undefined ? [place] : [...names.keys()].map((file) => dirname(file));
    for (const path of made) rmSync(path, { recursive: true, force: true });
  };
  return { paths: local, names, discard };
}
