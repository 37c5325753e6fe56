import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { downloaded, isUrl, shownUrl } from '../import/download.ts';
import { sourcesOf } from '../import/source.ts';
import { type DiskFloor, refuseSmallDisk } from '../store/disk-floor.ts';
import { EXIT, ExitWith } from './exit.ts';
import { eraseLine, megabytes, progressOn } from './status-line.ts';
import { printable, printError, type Terminal } from './terminal.ts';

/** Paths of an import, with downloaded files in place of URLs. Disposing removes what a rehearsal made. */
export interface LocalPaths extends Disposable {
  readonly paths: readonly string[];
  /** The names of downloaded files in reports, by path. */
  readonly names: ReadonlyMap<string, string>;
  /** Removes the downloaded files. Without it the next command uses them. */
  readonly discard: () => void;
}

/**
 * Downloads the URLs among the paths, into the data directory: a rehearsal creates none, so it has a directory of its own. The other paths are
 * checked first. Throws 'unreadable' and 'unavailable', and ExitWith, with a sentence printed, if the signal stopped it.
 */
export async function localPaths(
  terminal: Terminal,
  options: { readonly data: string; readonly diskFloor: DiskFloor; readonly dryRun?: true | undefined },
  paths: readonly string[],
  signal: AbortSignal,
): Promise<LocalPaths> {
  using made = new DisposableStack();
  const shown = new Map(paths.filter(isUrl).map((url) => [url, shownUrl(url)]));
  if (shown.size > 0) sourcesOf(paths.filter((path) => !isUrl(path)));
  const names = new Map<string, string>();
  const local: string[] = [];
  const show = progressOn(terminal);
  const isRehearsal = options.dryRun === true && !existsSync(options.data);
  let place: string | undefined;
  for (const path of paths) {
    const name = shown.get(path);
    if (name === undefined) {
      local.push(path);
      continue;
    }
    place ??= isRehearsal ? made.adopt(mkdtempSync(join(tmpdir(), 'bookreel-dry-run-')), remove) : options.data;
    const directory = join(place, 'downloads');
    const beforeBytes = (bytes: number) => refuseSmallDisk(directory, bytes, directory, options.diskFloor);
    const onBytes = (bytes: number) => show(() => `${megabytes(bytes)} of ${printable(name)} received`);
    try {
      local.push(await downloaded(path, { directory, signal, beforeBytes, onBytes }));
    } catch (error) {
      eraseLine(terminal);
      if (!signal.aborted) throw error;
      printError(terminal, 'the import was stopped: run the same command again to import the rest', 'failed');
      throw new ExitWith(EXIT.failure);
    }
    eraseLine(terminal);
    names.set(local.at(-1)!, name);
  }
  const kept = made.move();
  const discard = () => {
    for (const file of names.keys()) remove(dirname(file));
  };
  return { paths: local, names, discard, [Symbol.dispose]: () => kept.dispose() };
}

function remove(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
