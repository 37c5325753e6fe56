import type { InstantMs } from '../domain/instant.ts';
import type { Connection } from './connection.ts';
import { QueuedTask, TASK_MS, type WorkQueue } from './fair-queue.ts';
import type { Replay } from './replay.ts';
import type { Follower } from './replay-clock.ts';

/** The dependencies of every session on a replay. */
export interface SessionDeps {
  readonly replay: Replay;
  readonly connection: Connection;
  readonly queue: WorkQueue;
  readonly monotonicMs: () => number;
  /** Gets an error of work that a timer or the clock started, after the connection was closed for it. */
  readonly failed: (error: unknown) => void;
}

/** The messages of one session, in the order in which they are due. */
export interface ClockedMessages {
  /** When the next one is due; Infinity if none is left. */
  readonly nextMs: InstantMs;
  /** Sends a few of those that are due at `dueMs`; true if no more are due. */
  sendSome(dueMs: InstantMs): boolean;
  /** Starts again at `positionMs`: the clock has jumped. */
  restart(): void;
}

const GOING_AWAY = 1001;
const INTERNAL_ERROR = 1011;

/**
 * Sends the messages of one session when they are due by the clock of its replay, and no faster than its client reads. A client
 * that does not keep up gets messages later, without an effect on others. It sends nothing until `follow`.
 */
export class ClockedSender {
  readonly #replay: Replay;
  readonly #connection: Connection;
  readonly #nowMs: () => number;
  readonly #failed: (error: unknown) => void;
  readonly #messages: ClockedMessages;
  readonly #stopListening: readonly (() => void)[];
  readonly #task: QueuedTask;
  #follower: Follower | undefined;
  #positionMs: InstantMs;
  #isBlocked = false;
  #isClosed = false;

  constructor({ replay, connection, queue, monotonicMs, failed }: SessionDeps, messages: ClockedMessages) {
    this.#replay = replay;
    this.#connection = connection;
    this.#nowMs = monotonicMs;
    this.#failed = failed;
    this.#messages = messages;
    this.#positionMs = replay.clock.nowMs;
    this.#task = new QueuedTask(queue, () => this.#guarded(() => this.sendDue()));
    this.#stopListening = [
      replay.clock.onChange((change) => {
        if (change === 'jump') this.#guarded(() => this.#restart());
        else this.schedule();
      }),
      replay.onStop(() => this.close(GOING_AWAY, 'the replay was stopped')),
    ];
  }

  /** All messages up to this instant were sent. */
  get positionMs(): InstantMs {
    return this.#positionMs;
  }

  get isFollowing(): boolean {
    return this.#follower !== undefined;
  }

  /** True if the client does not keep up: nothing more should be sent for now. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  startAtClock(): void {
    this.#positionMs = this.#replay.clock.nowMs;
  }

  /**
   * Follows the clock while the client is subscribed to something. Without subscriptions it must not: it would have nothing to
   * wait for, and would move a clock with the speed 'max' to its end.
   */
  follow(isSubscribed: boolean): void {
    if (isSubscribed) {
      this.#follower ??= this.#replay.clock.follow(this.#positionMs);
      return;
    }
    this.#follower?.leave();
    this.#follower = undefined;
  }

  send(text: string): void {
    if (!this.#connection.send(text)) this.#isBlocked = true;
  }

  moveTo(instantMs: InstantMs): void {
    this.#positionMs = instantMs;
    this.#follower?.reached(instantMs);
  }

  /** Sends due messages in its turn, and again whenever the next one is due. */
  schedule(): void {
    if (this.#canSend) this.#task.run();
    else this.#task.cancel();
  }

  /** Sends due messages for at most TASK_MS, and schedules the rest. */
  sendDue(): void {
    this.#task.cancel();
    if (!this.#canSend) return;
    const { clock } = this.#replay;
    const dueMs = clock.dueMs;
    const untilMs = this.#nowMs() + TASK_MS;
    let isDone = false;
    const sendAll = () => {
      do isDone = this.#messages.sendSome(dueMs);
      while (!isDone && !this.#isBlocked && !this.#isClosed && this.#nowMs() < untilMs);
    };
    this.#connection.together(() => this.#replay.archive.database.read(sendAll));
    if (this.#isClosed || this.#isBlocked) return;
    if (!isDone) {
      this.#task.run();
      return;
    }
    this.moveTo(dueMs);
    const waitMs = clock.realMsUntil(this.#messages.nextMs);
    if (waitMs !== undefined) this.#task.runIn(waitMs);
  }

  /** Call it when the client has read all waiting messages. */
  drained(): void {
    this.#isBlocked = false;
    this.schedule();
  }

  close(code: number, reason: string): void {
    this.#connection.close(code, reason);
    this.closed();
  }

  closed(): void {
    this.#isClosed = true;
    for (const stop of this.#stopListening) stop();
    this.#follower?.leave();
    this.#task.cancel();
  }

  get #canSend(): boolean {
    return !this.#isClosed && !this.#isBlocked && this.isFollowing;
  }

  #restart(): void {
    this.#task.cancel();
    this.startAtClock();
    this.#messages.restart();
    this.schedule();
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.close(INTERNAL_ERROR, 'something went wrong here');
      this.#failed(error);
    }
  }
}
