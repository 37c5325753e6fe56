import type { RecorderClock } from './recorder-clock.ts';
import type { SocketLane } from './socket-lane.ts';

/** The venue sends no first books above 500 assets of a socket, and others use this number. */
const ASSETS_MAX = 200;
/** The sockets of one shard are opened this far apart, so that they are not replaced or cut off together. */
const APART_MS = 5000;

/** Divides the assets among sockets: each asset is on all lanes of one shard, and no socket has more than ASSETS_MAX. */
export class SocketShards implements Disposable {
  readonly #clock: RecorderClock;
  readonly #sockets: number;
  readonly #newLane: (number: number) => SocketLane;
  readonly #shards: (readonly SocketLane[])[] = [];
  readonly #shardOf = new Map<string, readonly SocketLane[]>();
  readonly #timers: Disposable[] = [];

  /** `sockets`: the number of lanes that bring each asset. */
  constructor(clock: RecorderClock, sockets: number, newLane: (number: number) => SocketLane) {
    this.#clock = clock;
    this.#sockets = sockets;
    this.#newLane = newLane;
  }

  get lanes(): readonly SocketLane[] {
    return this.#shards.flat();
  }

  /** The lanes that bring an asset; none of one that is not subscribed. */
  lanesOf(id: string): readonly SocketLane[] {
    return this.#shardOf.get(id) ?? [];
  }

  subscribe(ids: readonly string[]): void {
    let rest = ids.filter((id) => !this.#shardOf.has(id));
    for (let index = 0; rest.length > 0; index += 1) {
      const shard = this.#shards[index] ?? this.#opened();
      const taken = rest.slice(0, Math.max(0, ASSETS_MAX - shard[0]!.assets.size));
      rest = rest.slice(taken.length);
      for (const id of taken) this.#shardOf.set(id, shard);
      if (taken.length > 0) for (const lane of shard) lane.subscribe(taken);
    }
  }

  unsubscribe(ids: readonly string[]): void {
    for (const shard of this.#shards) {
      const removed = ids.filter((id) => this.#shardOf.get(id) === shard);
      if (removed.length > 0) for (const lane of shard) lane.unsubscribe(removed);
    }
    for (const id of ids) this.#shardOf.delete(id);
  }

  [Symbol.dispose](): void {
    for (const one of [...this.#timers, ...this.lanes]) one[Symbol.dispose]();
  }

  #opened(): readonly SocketLane[] {
    const first = this.#shards.length * this.#sockets + 1;
    const lanes = Array.from({ length: this.#sockets }, (_, index) => this.#newLane(first + index));
    for (const [index, lane] of lanes.entries()) {
      this.#timers.push(this.#clock.after(index * APART_MS, () => lane.open()));
    }
    this.#shards.push(lanes);
    return lanes;
  }
}
