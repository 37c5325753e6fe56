import { DomainError } from '../domain/errors.ts';
import type { Archive } from '../store/archive.ts';
import { Turns } from './fair-queue.ts';
import { ReplayRun, type RunClocks, type RunOptions } from './replay.ts';

/** Replays that one process holds. */
export const RUNS_MAX = 64;

/** The replays of a process, in the order in which they were made. The first one is what paths without a replay's id speak of. */
export class ReplayRuns {
  /** Of the clients of them all, and of whoever else has much to do. */
  readonly turns = new Turns();
  readonly #archive: Archive;
  readonly #clocks: RunClocks;
  readonly #runs = new Map<string, ReplayRun>();
  readonly #clients = new WeakMap<ReplayRun, number>();

  constructor(archive: Archive, clocks: RunClocks) {
    this.#archive = archive;
    this.#clocks = clocks;
  }

  /** A new one, paused at its beginning. Throws as ReplayRun does, and 'conflict' when there are too many. */
  make(options: RunOptions): ReplayRun {
    if (this.#runs.size >= RUNS_MAX) {
      throw new DomainError('conflict', `there are ${RUNS_MAX} replays already: end one of them first`);
    }
    const run = new ReplayRun(this.#archive, options, this.#clocks, this.turns);
    this.#runs.set(run.id, run);
    return run;
  }

  list(): ReplayRun[] {
    return [...this.#runs.values()];
  }

  /** The one with that id, or without an id the first one. Throws 'not-found'. */
  find(id: string | undefined): ReplayRun {
    const run = id === undefined ? this.#runs.values().next().value : this.#runs.get(id);
    if (run === undefined) throw new DomainError('not-found', 'there is no such replay: /v1/replay/runs lists them');
    return run;
  }

  /** Somebody listens to it; returns what is to be called when they leave. */
  joined(run: ReplayRun): () => void {
    this.#clients.set(run, this.clientsOf(run) + 1);
    return () => this.#clients.set(run, this.clientsOf(run) - 1);
  }

  /** Who listens to it now. */
  clientsOf(run: ReplayRun): number {
    return this.#clients.get(run) ?? 0;
  }

  /** Stops it for good; its connections are closed. */
  end(id: string): void {
    this.find(id).end();
    this.#runs.delete(id);
  }
}
