import type { Connection } from '../../src/replay/connection.ts';

/** A connection that keeps what is sent, and is behind as often as `behind` says. */
export class KeepingConnection implements Connection {
  readonly frames: string[] = [];
  readonly closings: [number, string][] = [];
  readonly #behind: () => boolean;
  /** Until somebody takes it back, and tells the session. */
  isBehind = false;

  constructor(behind: () => boolean = () => false) {
    this.#behind = behind;
  }

  send(text: string): boolean {
    if (this.closings.length > 0) throw new Error('sent behind the close');
    this.frames.push(text);
    this.isBehind ||= this.#behind();
    return !this.isBehind;
  }

  together(work: () => void): void {
    work();
  }

  close(code: number, reason: string): void {
    this.closings.push([code, reason]);
  }
}
