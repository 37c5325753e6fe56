import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import { type DiskFloor, lowDisk } from '../store/disk-floor.ts';
import { isDiskFull, keepReserve } from '../store/disk-reserve.ts';
import type { StoringOptions } from './import.ts';

const LOOK_MS = 60_000;
const FULL_LOOK_MS = 1000;

/** Looks at once and every minute, until `Symbol.dispose`. */
export function keepWatched(log: Pick<Log, 'error' | 'warn'>, { data, diskFloor }: StoringOptions): Disposable {
  const watch = new DiskWatch(data, diskFloor, log.warn);
  const look = () => {
    try {
      watch.look();
      keepReserve(data);
    } catch (error) {
      log.error(`the free space of the disk is not known: ${causeOf(error)}`);
    }
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Settles when the disk is not full any more; looks until `Symbol.dispose`. */
export function untilSpace({ data }: Pick<StoringOptions, 'data'>): Disposable & { readonly freed: Promise<void> } {
  const { promise: freed, resolve } = Promise.withResolvers<void>();
  const look = () => {
    try {
      if (!isDiskFull(data)) resolve();
    } catch {
      // The next look may succeed.
    }
  };
  const timer = setInterval(look, FULL_LOOK_MS);
  return { freed, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Says once when the disk of a data directory falls below its floor, and once when it is above again. */
export class DiskWatch {
  readonly #directory: string;
  readonly #floor: DiskFloor;
  readonly #say: (line: string) => void;
  readonly #free: ((directory: string) => number) | undefined;
  #isLow = false;

  /** `free`: the number of free bytes, by default that of the file system. */
  constructor(directory: string, floor: DiskFloor, say: (line: string) => void, free?: (directory: string) => number) {
    this.#directory = directory;
    this.#floor = floor;
    this.#say = say;
    this.#free = free;
  }

  /** Throws errors of the file system. */
  look(): void {
    const low = lowDisk(this.#directory, this.#floor, this.#free);
    if (low !== undefined && !this.#isLow) {
      this.#say(`${low}: free some space; imports stop until then, and everything stored is still served`);
    }
    if (low === undefined && this.#isLow) this.#say(`the disk of '${this.#directory}' has enough free space again`);
    this.#isLow = low !== undefined;
  }
}
