import type { Connection } from '../../replay/connection.ts';
import { QueuedTask, type WorkQueue } from '../../replay/fair-queue.ts';
import { MergedStream, type StreamItem, type TardisStream } from '../../replay/tardis/stream.ts';
import type { Database } from '../../store/database.ts';
import { type Pace, PacedReader } from './paced-reader.ts';

export interface SenderDeps {
  readonly database: Database;
  readonly queue: WorkQueue;
  readonly pace: Pace;
  /** Called once: when everything was sent, or with the error that ended it. */
  readonly ended: (error?: unknown) => void;
}

/** Sends several streams to their clients, merged by time. If a client does not keep up, all wait for it. */
export class TardisSender {
  readonly #deps: SenderDeps;
  readonly #merged: MergedStream;
  readonly #reader: PacedReader;
  readonly #connections: Map<TardisStream, Connection>;
  readonly #blocked = new Set<TardisStream>();
  readonly #task: QueuedTask;
  #isOver = false;

  constructor(deps: SenderDeps, connections: ReadonlyMap<TardisStream, Connection>) {
    this.#deps = deps;
    this.#merged = new MergedStream([...connections.keys()]);
    this.#reader = new PacedReader(this.#merged, deps.pace);
    this.#connections = new Map(connections);
    this.#task = new QueuedTask(deps.queue, () => this.#send());
  }

  start(): void {
    this.#continue(0);
  }

  /** The client has read all waiting messages. */
  drained(stream: TardisStream): void {
    if (this.#blocked.delete(stream)) this.#continue(0);
  }

  left(stream: TardisStream): void {
    this.#connections.delete(stream);
    this.#blocked.delete(stream);
    this.#merged.remove(stream);
    if (this.#merged.last === stream) this.#reader.drop();
    if (this.#connections.size === 0) this.stop();
    else this.#continue(0);
  }

  stop(): void {
    this.#isOver = true;
    this.#task.cancel();
  }

  #send(): void {
    try {
      // A connection that is closing does not call the work: `left` follows shortly.
      let waitMs: number | undefined = 0;
      const work = () => {
        waitMs = this.#deps.database.read(() => this.#reader.read((item) => this.#sendItem(item)));
      };
      const [only, ...others] = this.#connections.values();
      // Only one connection at a time can get its messages in one piece.
      if (only !== undefined && others.length === 0) only.together(work);
      else work();
      this.#continue(waitMs);
    } catch (error) {
      this.#end(error);
    }
  }

  /** False if nothing more may be sent for now. */
  #sendItem({ kind, text }: StreamItem): boolean {
    const stream = this.#merged.last!;
    if (kind === 'text' && this.#connections.get(stream)?.send(text) === false) this.#blocked.add(stream);
    return !this.#isOver && this.#blocked.size === 0;
  }

  /** Undefined: everything was sent. */
  #continue(waitMs: number | undefined): void {
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
