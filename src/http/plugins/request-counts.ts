import { RateWindows, type Windows } from '../../domain/rate-window.ts';

/** The open requests of one kind. */
export interface OpenRequests {
  /**
   * Counts one more request, unless `refuse` throws, which gets the number of open ones in all and with the key (0 without a key). Call the
   * returned function once, when the request ends.
   */
  begin(keyId: string | undefined, refuse: (open: number, openWithKey: number) => void): () => void;
}

/** What the requests of a server are counted by: in the memory of one process, or of all processes of the server. */
export interface RequestCounts {
  /** Windows for this number of subjects. */
  readonly windows: (subjectsMax: number) => Windows;
  readonly openRequests: (kind: string) => OpenRequests;
  /** Counts a request that begins. */
  readonly arrived: () => void;
}

export class OpenInMemory implements OpenRequests {
  readonly #byKey = new Map<string | undefined, number>();
  #open = 0;

  begin(keyId: string | undefined, refuse: (open: number, openWithKey: number) => void): () => void {
    refuse(this.#open, keyId === undefined ? 0 : (this.#byKey.get(keyId) ?? 0));
    this.#add(keyId, 1);
    return () => this.#add(keyId, -1);
  }

  #add(keyId: string | undefined, count: 1 | -1): void {
    this.#open += count;
    const open = (this.#byKey.get(keyId) ?? 0) + count;
    if (open === 0) this.#byKey.delete(keyId);
    else this.#byKey.set(keyId, open);
  }
}

/** The counts of a server that is one process. */
export const COUNTS_IN_MEMORY: RequestCounts = {
  windows: (subjectsMax) => new RateWindows(subjectsMax),
  openRequests: () => new OpenInMemory(),
  arrived: () => undefined,
};
