import { DomainError } from '../domain/errors.ts';
import type { Archive } from '../store/archive.ts';
import { Clients } from './clients.ts';
import { FairQueue } from './fair-queue.ts';
import type { MirrorMode } from './market-state.ts';
import { Replay, type ReplayClocks, type ReplayOptions } from './replay.ts';

export const REPLAYS_MAX = 64;
/** A key has at most a quarter, and at most as many as are left for others. */
export const REPLAYS_PER_KEY_MAX = REPLAYS_MAX / 4;
const BUSY = ['busy', 'try again later'] as const;

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

  /**
   * Adds a replay, paused at its beginning; `owner` as in Replay. Throws as Replay does, and if there are too many: 'conflict' without an
   * owner, else 'rate-limited' for those of the owner, and 'busy' if the owner has as many as are left.
   */
  create(options: ReplayOptions, owner?: string): Replay {
    const { size } = this.#replays;
    const own = owner === undefined ? 0 : this.list().filter((replay) => replay.owner === owner).length;
    if (own >= REPLAYS_PER_KEY_MAX) {
      throw new DomainError('rate-limited', `this key has ${own} replays already: stop one of them first`);
    }
    if (own >= REPLAYS_MAX - size) {
      const [kind, advice] = owner === undefined ? (['conflict', 'stop one of them first'] as const) : BUSY;
      throw new DomainError(kind, `there are ${size} replays already: ${advice}`);
    }
    const replay = new Replay(this.#archive, options, this.#clocks, owner);
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

  /** Those that exist for a key, see `findFor`. */
  listFor(keyId: string | undefined): Replay[] {
    return this.list().filter((replay) => isFor(replay, keyId));
  }

  /** The replay with this id; without an id the first one. Throws 'not-found'. */
  find(id: string | undefined): Replay {
    return existing(id === undefined ? this.#replays.values().next().value : this.#replays.get(id));
  }

  /** As `find`, for a key: the replay of another key does not exist for it. `keyId` is undefined if no key is needed. */
  findFor(id: string | undefined, keyId: string | undefined): Replay {
    const replay = this.find(id);
    return existing(isFor(replay, keyId) ? replay : undefined);
  }

  /** Removes a replay and closes its connections. Throws 'not-found'. */
  stop(id: string): void {
    this.find(id).stop();
    this.#replays.delete(id);
  }
}

function isFor({ owner }: Replay, keyId: string | undefined): boolean {
  return owner === undefined || owner === keyId;
}

function existing(replay: Replay | undefined): Replay {
  if (replay !== undefined) return replay;
  throw new DomainError('not-found', 'there is no such replay: /v1/replays lists them');
}
