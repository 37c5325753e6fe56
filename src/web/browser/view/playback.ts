import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { ViewState } from './view-state.ts';

/** Moves the instant with the time that passes, once a frame. */
export class Playback {
  readonly speed: Signal<number> = signal(1);
  readonly #state: ViewState;
  readonly #isWaiting: () => boolean;
  readonly #isPlaying = signal(false);
  readonly isPlaying: ReadonlySignal<boolean> = this.#isPlaying;
  /** The instant, with fractions of a millisecond. */
  #atMs = 0;
  #frameMs = 0;

  /** While `isWaiting` returns true, for example for ladders, the instant stays. */
  constructor(state: ViewState, isWaiting: () => boolean) {
    this.#state = state;
    this.#isWaiting = isWaiting;
  }

  /** Plays from `playMs` of the state, or pauses. */
  toggle(): void {
    if (this.#isPlaying.value) {
      this.pause();
      return;
    }
    this.#state.scrubTo(this.#state.playMs);
    this.#frameMs = performance.now();
    this.#isPlaying.value = true;
    requestAnimationFrame(this.#advance);
  }

  pause(): void {
    this.#isPlaying.value = false;
  }

  readonly #advance = (nowMs: number): void => {
    if (!this.#isPlaying.value) return;
    const { limits, atMs } = this.#state;
    // Someone may have moved it meanwhile.
    if (Math.round(this.#atMs) !== atMs.value) this.#atMs = atMs.value;
    if (!this.#isWaiting()) this.#atMs += Math.max(0, nowMs - this.#frameMs) * this.speed.value;
    this.#frameMs = nowMs;
    this.#state.scrubTo(this.#atMs);
    if (this.#atMs >= limits.value.to - 1) this.pause();
    else requestAnimationFrame(this.#advance);
  };
}
