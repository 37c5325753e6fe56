import { DomainError } from '../domain/errors.ts';
import type { Archive } from '../store/archive.ts';
import { Clients } from './clients.ts';
import { FairQueue } from './fair-queue.ts';
import type { MirrorMode } from './market-state.ts';
import { Replay, type ReplayClocks, type ReplayOptions } from './replay.ts';

export const REPLAYS_MAX = 64;

/** The replays of a process, in the order of creation. Paths without a replay's id are about the first one. */
export class Replays {
  /** The queue that the clients of all replays share with other long work. */
  readonly queue = new FairQueue();
  readonly clients = new Clients();
  readonly #archive: Archive;
  readonly #clocks: ReplayClocks;
  readonly #replays = new Map<string, Replay>();
  readonly #steerListeners = new Set<(replay: Replay) => void>();

  constructor(archive: Archive, clocks: ReplayClocks) {
    this.#archive = archive;
    this.#clocks = clocks;
  }

  /** Adds a replay, paused at its beginning. Throws as Replay does, and 'conflict' if there are too many. */
  create(options: ReplayOptions): Replay {
    if (this.#replays.size >= REPLAYS_MAX) {
      throw new DomainError('conflict', `there are ${REPLAYS_MAX} replays already: stop one of them first`);
    }
    const replay = new Replay(this.#archive, options, this.#clocks);
    this.#replays.set(replay.id, replay);
    replay.clock.onChange(() => {
      for (const listener of [...this.#steerListeners]) listener(replay);
    });
    return replay;
  }

  /** Calls `listener` after every change of a replay's clock; returns a function that removes it. */
  onSteer(listener: (replay: Replay) => void): () => void {
    this.#steerListeners.add(listener);
    return () => this.#steerListeners.delete(listener);
  }

  /** The mirror mode of the first replay, for paths that name no replay, such as tardis-machine's; 'fresh' without one. */
  get mirror(): MirrorMode {
    return this.list()[0]?.options.mirror ?? 'fresh';
  }

  list(): Replay[] {
    return [...this.#replays.values()];
  }

  /** The replay with this id; without an id the first one. Throws 'not-found'. */
  find(id: string | undefined): Replay {
    const replay = id === undefined ? this.#replays.values().next().value : this.#replays.get(id);
    if (replay === undefined) throw new DomainError('not-found', 'there is no such replay: /v1/replays lists them');
    return replay;
  }

  /** Removes a replay and closes its connections. Throws 'not-found'. */
  stop(id: string): void {
    this.find(id).stop();
    this.#replays.delete(id);
  }
}
