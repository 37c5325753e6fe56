import type { MergedStream, StreamItem, TardisStream } from '../../replay/tardis/tardis-stream.ts';
import type { Connection } from '../../replay/venue/venue-session.ts';
import type { Database } from '../../store/database.ts';
import type { TardisPace } from './tardis-pace.ts';

/** So long may be sent until others get their turn. */
const TURN_MS = 4;
/** Items that are handled between two looks at the time. */
const ITEMS_PER_LOOK = 16;
/** setTimeout takes no more. */
const WAIT_MS_MAX = 2 ** 31 - 1;

/** A client that a stream is sent to. */
export interface Outlet {
  readonly connection: Connection;
  readonly stream: TardisStream;
}

export interface PumpDeps {
  readonly database: Database;
  readonly pace: TardisPace;
  readonly monotonicMs: () => number;
  /** Called once: everything was sent, or with an error it was not. */
  readonly ended: (error?: unknown) => void;
}

/**
 * Sends streams to their clients in one order. All wait for one that does not keep up, so that none is ahead; each turn is a
 * view of the archive of its own.
 */
export class TardisPump {
  readonly #deps: PumpDeps;
  readonly #merged: MergedStream;
  readonly #outlets: Map<TardisStream, Outlet>;
  readonly #blocked = new Set<TardisStream>();
  #held: { readonly stream: TardisStream; readonly item: StreamItem } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turn: ReturnType<typeof setImmediate> | undefined;
  #isOver = false;

  constructor(deps: PumpDeps, merged: MergedStream, outlets: readonly Outlet[]) {
    this.#deps = deps;
    this.#merged = merged;
    this.#outlets = new Map(outlets.map((outlet) => [outlet.stream, outlet]));
  }

  start(): void {
    this.#schedule();
  }

  /** A client takes more. */
  drained(stream: TardisStream): void {
    if (this.#blocked.delete(stream)) this.#schedule();
  }

  /** A client has gone. */
  left(stream: TardisStream): void {
    this.#outlets.delete(stream);
    this.#blocked.delete(stream);
    this.#merged.remove(stream);
    if (this.#held?.stream === stream) this.#held = undefined;
    if (this.#outlets.size === 0) this.stop();
    else this.#schedule();
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    if (!this.#isOver && this.#blocked.size === 0) this.#turn = setImmediate(() => this.#send());
  }

  #send(): void {
    try {
      // A connection that is closing calls nothing: that it is closed is told in a moment.
      let waitMs: number | undefined = 0;
      const work = () => {
        waitMs = this.#deps.database.read(() => this.#sendSome());
      };
      const [only, ...others] = this.#outlets.values();
      // Several messages in one piece: that is possible for one connection at a time.
      if (only !== undefined && others.length === 0) only.connection.together(work);
      else work();
      this.#goOn(waitMs);
    } catch (error) {
      this.#end(error);
    }
  }

  #goOn(waitMs: number | undefined): void {
    if (this.#isOver || this.#blocked.size > 0) return;
    if (waitMs === undefined) this.#end();
    else if (waitMs === 0) this.#schedule();
    else this.#timer = setTimeout(() => this.#send(), Math.min(Math.ceil(waitMs), WAIT_MS_MAX));
  }

  #end(error?: unknown): void {
    if (this.#isOver) return;
    this.stop();
    this.#deps.ended(error);
  }

  /** What it is time for, for a turn; returns how long to wait for the rest, undefined when there is none. */
  #sendSome(): number | undefined {
    const { pace, monotonicMs } = this.#deps;
    const untilMs = monotonicMs() + TURN_MS;
    this.#merged.check();
    for (let count = 1; !this.#isOver && this.#blocked.size === 0; count += 1) {
      const next = this.#held ?? this.#merged.nextOf();
      this.#held = undefined;
      if (next === undefined) return undefined;
      const { stream, item } = next;
      if (item.kind === 'text') {
        const waitMs = pace.waitMs(item.localMs);
        if (waitMs > 0) {
          this.#held = next;
          return waitMs;
        }
        const outlet = this.#outlets.get(stream);
        if (outlet?.connection.send(item.text) === false) this.#blocked.add(stream);
      }
      // In front of a rest there was work.
      if ((item.kind === 'rest' || count % ITEMS_PER_LOOK === 0) && monotonicMs() >= untilMs) return 0;
    }
    return 0;
  }
}
