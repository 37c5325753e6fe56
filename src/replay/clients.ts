/** 'client': a connection to the venue's market channel; 'tardis stream': one of tardis-machine's replays. */
export type ClientKind = 'client' | 'tardis stream';

export interface ClientChange {
  readonly kind: ClientKind;
  readonly change: 'connected' | 'left';
  /** The id of its replay; undefined for a stream of the whole archive. */
  readonly replay: string | undefined;
}

export class Clients {
  readonly #counts: Record<ClientKind, number> = { client: 0, 'tardis stream': 0 };
  readonly #listeners = new Set<(change: ClientChange) => void>();

  count(kind: ClientKind): number {
    return this.#counts[kind];
  }

  /** Counts a client until the returned function is called, which must be called once. */
  join(kind: ClientKind, replay?: string): () => void {
    this.#change(1, { kind, change: 'connected', replay });
    return () => this.#change(-1, { kind, change: 'left', replay });
  }

  /** Calls `listener` after every change; returns a function that removes it. */
  onChange(listener: (change: ClientChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #change(by: 1 | -1, change: ClientChange): void {
    this.#counts[change.kind] += by;
    for (const listener of [...this.#listeners]) listener(change);
  }
}
