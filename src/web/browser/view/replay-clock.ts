import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Connection } from './connection.ts';
import { pause } from './pause.ts';

/** The clock of a replay, see ReplayResource. */
export interface ReplayClockJson {
  readonly id: string;
  readonly isFirst: boolean;
  readonly state: 'running' | 'paused' | 'ended';
  readonly now: string;
  readonly speed: number | 'max';
  /** Null: it takes no orders. */
  readonly paper: object | null;
}

/** Time between two reads of the clock. A key has a limit of requests, and each read causes further ones for what is shown. */
const POLL_MS = { open: 500, withKey: 3000 };
const RETRY_MS = 3000;

/** Reads the clock of a replay again and again. It never steers it. */
export class ReplayClock {
  readonly #connection: Connection;
  readonly #replayId: string | null;
  readonly #shown: Signal<ReplayClockJson | undefined> = signal(undefined);
  readonly shown: ReadonlySignal<ReplayClockJson | undefined> = this.#shown;

  /** `replayId` null: the first replay of the process. */
  constructor(connection: Connection, replayId: string | null) {
    this.#connection = connection;
    this.#replayId = replayId;
  }

  /** Settles when `signal` is aborted. */
  async follow(onError: (error: unknown) => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let waitMs = this.#connection.needsKey ? POLL_MS.withKey : POLL_MS.open;
      try {
        this.#shown.value = await this.#read(signal);
      } catch (error) {
        onError(error);
        waitMs = RETRY_MS;
      }
      await pause(waitMs, signal);
    }
  }

  async #read(signal: AbortSignal): Promise<ReplayClockJson | undefined> {
    if (this.#replayId !== null) {
      const path = `/v1/replays/${this.#replayId}`;
      return (await this.#connection.get<{ data: ReplayClockJson }>(path, { signal })).data;
    }
    const { data } = await this.#connection.get<{ data: ReplayClockJson[] }>('/v1/replays', { signal });
    return data.find(({ isFirst }) => isFirst);
  }
}
