import type { Connection } from '../../replay/connection.ts';
import { type FairQueue, QueuedTask } from '../../replay/fair-queue.ts';
import { MergedStream, type StreamItem, type TardisStream } from '../../replay/tardis/stream.ts';
import type { Database } from '../../store/database.ts';
import { type Pace, PacedReader } from './paced-reader.ts';

export interface PumpDeps {
  readonly database: Database;
  readonly queue: FairQueue;
  readonly pace: Pace;
  /** Called once: everything was sent, or with an error it was not. */
  readonly ended: (error?: unknown) => void;
}

/** Sends streams to their clients in one order; all wait for one that does not keep up. */
export class TardisPump {
  readonly #deps: PumpDeps;
  readonly #merged: MergedStream;
  readonly #reader: PacedReader;
  readonly #connections: Map<TardisStream, Connection>;
  readonly #blocked = new Set<TardisStream>();
  readonly #task: QueuedTask;
  #isOver = false;

  /** Each stream with the connection that it is sent to. */
  constructor(deps: PumpDeps, connections: ReadonlyMap<TardisStream, Connection>) {
    this.#deps = deps;
    this.#merged = new MergedStream([...connections.keys()]);
    this.#reader = new PacedReader(this.#merged, deps.pace);
    this.#connections = new Map(connections);
    this.#task = new QueuedTask(deps.queue, () => this.#send());
  }

  start(): void {
    this.#goOn(0);
  }

  /** A client takes more. */
  drained(stream: TardisStream): void {
    if (this.#blocked.delete(stream)) this.#goOn(0);
  }

  /** A client has gone. */
  left(stream: TardisStream): void {
    this.#connections.delete(stream);
    this.#blocked.delete(stream);
    this.#merged.remove(stream);
    if (this.#merged.last === stream) this.#reader.drop();
    if (this.#connections.size === 0) this.stop();
    else this.#goOn(0);
  }

  stop(): void {
    this.#isOver = true;
    this.#task.cancel();
  }

  #send(): void {
    try {
      // A connection that is closing calls nothing: `left` follows in a moment.
      let waitMs: number | undefined = 0;
      const work = () => {
        waitMs = this.#deps.database.read(() => this.#reader.read((item) => this.#sendItem(item)));
      };
      const [only, ...others] = this.#connections.values();
      // Several messages in one piece: that is possible for one connection at a time.
      if (only !== undefined && others.length === 0) only.together(work);
      else work();
      this.#goOn(waitMs);
    } catch (error) {
      this.#end(error);
    }
  }

  /** False when nothing more may be sent for now. */
  #sendItem({ kind, text }: StreamItem): boolean {
    const stream = this.#merged.last!;
    if (kind === 'text' && this.#connections.get(stream)?.send(text) === false) this.#blocked.add(stream);
    return !this.#isOver && this.#blocked.size === 0;
  }

  /** Undefined: there is no more. */
  #goOn(waitMs: number | undefined): void {
    if (this.#isOver || this.#blocked.size > 0) this.#task.cancel();
    else if (waitMs === undefined) this.#end();
    else if (waitMs === 0) this.#task.run();
    else this.#task.runIn(waitMs);
  }

  #end(error?: unknown): void {
    if (this.#isOver) return;
    this.stop();
    this.#deps.ended(error);
  }
}
