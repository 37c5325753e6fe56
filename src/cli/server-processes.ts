import { randomBytes } from 'node:crypto';
import type { InstantMs } from '../domain/instant.ts';
import type { ServerProcess } from '../domain/server-status.ts';
import { endedReadings, mergedReadings } from '../http/metrics/merged-readings.ts';
import type { Metrics, Reading } from '../http/metrics/metrics.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import { SHARED_BYTES, SharedCounts } from '../http/plugins/shared-counts.ts';
import { type Answers, Conversation, type Message } from './conversation.ts';
import { PROCESS_VARIABLE } from './environment.ts';
import { EXIT, type ExitCode, ExitWith } from './exit.ts';
import { connectionsTo } from './listening-sockets.ts';
import { ownCommand } from './own-command.ts';
import type { ProcessStart, SocketPlace } from './process-link.ts';
import { ProcessLog } from './process-log.ts';
import { SharedMemory } from './shared-memory.ts';

/** The pause before a process is started again; each further one doubles it while processes end within QUICK_MS of their start. */
const PAUSE_MS = { min: 100, max: 5000 };
const QUICK_MS = 1000;
/** A process that ends so often in this time ends the server. */
const ENDS_MAX = 5;
const ENDS_MS = 10_000;
/** A scrape does not wait longer for a process; its last counts are shown. */
const READINGS_MS_MAX = 1000;
const USAGE_MS_MAX = 3000;
/** In addition to what a process may take to answer the requests under way. */
const LAST_MS = 10_000;

/** A running process of a server. */
interface Running {
  readonly number: number;
  readonly pid: number;
  readonly startedMs: number;
  /** By the wall clock. */
  readonly sinceMs: InstantMs;
  readonly talk: Conversation;
  readonly listened: Promise<void>;
  readonly exited: Promise<ExitCode>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** True: it ends as intended. */
  isLeaving: boolean;
  /** The last ones. */
  readings: readonly Reading[];
  /** Requests that have begun in it, as last reported. */
  requests: number;
}

/** The same for all processes, but for the one that leads. `certificate`: that of now. */
export type SharedStart = Omit<ProcessStart, 'seed' | 'secret' | 'isLeading' | 'certificate'> & {
  readonly certificate: () => ProcessStart['certificate'];
};

/**
 * The processes that answer the requests of a server, started by one that answers none. One that ends is started again, and one leads, see
 * ProcessLink. Everything that they count together is in memory that they share.
 */
export class ServerProcesses implements Disposable {
  readonly #start: SharedStart;
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #memory = new SharedMemory(SHARED_BYTES);
  readonly #seed = randomBytes(8).readBigUInt64LE();
  readonly #secret = randomBytes(32).toString('hex');
  readonly #counts = new SharedCounts(this.#memory.bytes, this.#seed, process.pid, () => 0);
  /** By number. */
  readonly #running = new Map<number, Running>();
  /** Also those that another one has replaced. */
  readonly #all = new Set<Running>();
  /** Those that listen, in the order of the kernel's list of their sockets. */
  readonly #listening: Running[] = [];
  readonly #endsMs = new Map<number, number[]>();
  /** Unexpected ends, by the number of the process. */
  readonly #restarts = new Map<number, number>();
  readonly #clock: () => InstantMs;
  /** Processes that are started again, by number: settles when one runs. */
  readonly #startingAgain = new Map<number, Promise<void>>();
  /** Settles when all processes have begun. */
  readonly #first = Promise.withResolvers<void>();
  readonly #given = Promise.withResolvers<never>();
  /** The counts of processes that have ended. */
  #ended: Reading[] = [];
  #latest: readonly ServerProcess[] = [];
  #leading: Running | undefined;
  #hasBegun = false;
  #isStopping = false;
  #isReplacing = false;
  /** Its replacement starts. */
  #replaced: Running | undefined;
  #mustReplace = false;

  /** `clock`: the wall clock. `metrics`: those of this process. */
  constructor(start: SharedStart, log: Log, metrics: Metrics, clock: () => InstantMs) {
    this.#clock = clock;
    this.#start = start;
    this.#log = log;
    this.#metrics = metrics;
    // It is waited for later.
    this.#given.promise.catch(() => undefined);
  }

  /** Rejects when a process ends again and again. */
  get gaveUp(): Promise<never> {
    return this.#given.promise;
  }

  /** Settles when all accept connections. Rejects with the exit code of one that cannot start, which has said why. */
  async begin(): Promise<void> {
    const { processes } = this.#start;
    // The first one alone: all others would say the same.
    await this.#begun(this.#spawn(1, true));
    if (this.#isStopping) return;
    const others = Array.from({ length: processes - 1 }, (_, index) => this.#spawn(index + 2, false));
    await Promise.all(others.map((running) => this.#begun(running)));
    this.#hasBegun = true;
    this.#first.resolve();
  }

  /**
   * Replaces all processes, one after another, by new ones, which read their settings again; then once more if it was asked for meanwhile.
   * Connections of one that is replaced get the answer to their next request. A process that cannot start replaces none. Processes that
   * start for the first time are waited for: they may have read the earlier settings.
   */
  readonly replace = async (): Promise<void> => {
    this.#mustReplace = true;
    if (this.#isReplacing) return;
    this.#isReplacing = true;
    try {
      await this.#first.promise;
      while (this.#mustReplace && !this.#isStopping) {
        this.#mustReplace = false;
        if (await this.#replaceEach()) this.#log.info('all processes were replaced');
      }
    } finally {
      this.#isReplacing = false;
    }
  };

  /** New connections get the certificate of now. */
  readonly renew = (): void => {
    // The certificate is that of now as soon as this returns.
    queueMicrotask(() => void this.replace());
  };

  /** Stops all processes; settles when they have answered the requests under way. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const lastMs = this.#start.settings.drainSeconds * 1000 + LAST_MS;
    await Promise.all(
      [...this.#all].map(async (running) => {
        running.isLeaving = true;
        void running.talk.ask('stop');
        await this.#exitOf(running, lastMs);
      }),
    );
  }

  /** Closes all connections, those with requests under way too. */
  stopNow(): void {
    for (const { talk } of this.#all) void talk.ask('stopNow');
  }

  /** The metrics of all processes. */
  async readings(): Promise<Reading[]> {
    const others = [...this.#all].sort((a, b) => Number(b === this.#leading) - Number(a === this.#leading));
    await Promise.all([
      this.states(),
      ...others.map(async (running) => {
        running.readings = (await running.talk.ask('readings', undefined, READINGS_MS_MAX)) ?? running.readings;
      }),
    ]);
    return mergedReadings([
      // One that has ended meanwhile is counted there.
      ...others
        .filter((running) => this.#all.has(running))
        .map((running) => [nameOf(running, this.#running), running.readings] as const),
      ['ended', this.#ended],
      ['parent', this.#metrics.read()],
    ]);
  }

  /** The present processes, also those that are being started again. Waits for the answer of each for READINGS_MS_MAX at most. */
  async states(): Promise<readonly ServerProcess[]> {
    await Promise.all(
      [...this.#all].map(async (running) => {
        running.requests = (await running.talk.ask('requests', undefined, READINGS_MS_MAX)) ?? running.requests;
      }),
    );
    this.#latest = this.#present();
    return this.#latest;
  }

  /** The result of the last call of `states` or `readings`: connections are not counted again. */
  get latest(): readonly ServerProcess[] {
    return this.#latest;
  }

  #present(): ServerProcess[] {
    const { port, processes } = this.#start;
    const numbers = Array.from({ length: processes }, (_, index) => index + 1);
    return numbers.flatMap((number): ServerProcess[] => {
      const restarts = this.#restarts.get(number) ?? 0;
      const all = [...this.#all].filter((running) => running.number === number);
      const current = this.#running.get(number);
      if (all.length === 0) {
        return [{ number, processId: null, state: 'starting', sinceMs: null, restarts, connections: 0, requests: 0 }];
      }
      return all.map((running, index) => {
        const { pid: processId, sinceMs, requests } = running;
        const isLeaving = running.isLeaving || (current !== undefined && index < all.indexOf(current));
        const state = isLeaving ? 'leaving' : running === current ? 'running' : 'starting';
        return { number, processId, state, sinceMs, restarts, connections: connectionsTo(port, processId), requests };
      });
    });
  }

  [Symbol.dispose](): void {
    for (const { kill } of this.#all) kill('SIGKILL');
    this.#memory[Symbol.dispose]();
  }

  #spawn(number: number, isLeading: boolean): Running {
    const { promise: listened, resolve: onListening } = Promise.withResolvers<void>();
    const answers: Answers = {
      listening: () => {
        this.#listening.push(running);
        onListening();
      },
      refusing: () => this.#forget(running),
      gather: () => this.#flushUsage(running),
      ended: (readings: readonly Reading[]) => {
        running.readings = readings;
      },
    };
    const talk: Conversation = new Conversation(
      (message) => void child.send(message),
      answers,
      (question, error) => this.#log.error(`'${question}' of process ${number} has failed: ${causeOf(error)}`),
    );
    const child = Bun.spawn(ownCommand(process.argv.slice(2)), {
      env: { ...process.env, [PROCESS_VARIABLE]: String(number) },
      stdio: ['ignore', 'ignore', 'pipe', this.#memory.descriptor],
      ipc: (message: Message) => talk.receive(message),
    });
    const log = new ProcessLog(this.#log, number, () => !this.#hasBegun);
    const logged = log
      .follow(child.stderr)
      .catch((error: unknown) => this.#log.error(`the log of process ${number} was not read: ${causeOf(error)}`));
    const running: Running = {
      number,
      pid: child.pid,
      startedMs: performance.now(),
      sinceMs: this.#clock(),
      talk,
      listened,
      exited: child.exited.then(async () => {
        talk.close();
        await logged;
        this.#end(running, `${child.signalCode ?? `exit code ${child.exitCode}`}`);
        return (child.exitCode ?? EXIT.failure) as ExitCode;
      }),
      kill: (signal) => child.kill(signal),
      isLeaving: false,
      readings: [],
      requests: 0,
    };
    this.#all.add(running);
    if (isLeading) this.#leading = running;
    const { certificate, settings, port, processes, errIsTerminal } = this.#start;
    const secrets = { seed: String(this.#seed), secret: this.#secret };
    const same = { settings, port, processes, errIsTerminal, ...secrets };
    void talk.ask('start', { ...same, certificate: certificate(), isLeading } satisfies ProcessStart);
    return running;
  }

  /** Settles when the process accepts connections; throws its exit code if it does not. From then on it is one of the running ones. */
  async #begun(running: Running): Promise<Running> {
    const { listened, exited, number } = running;
    const code = await Promise.race([listened.then(() => undefined), exited]);
    if (code !== undefined) throw new ExitWith(code === EXIT.ok ? EXIT.failure : code);
    this.#running.set(number, running);
    // All others have ended meanwhile.
    if (this.#leading === undefined) {
      this.#leading = running;
      void running.talk.ask('lead');
    }
    return running;
  }

  async #replaceEach(): Promise<boolean> {
    for (let number = 1; number <= this.#start.processes; number += 1) {
      // It may have read the earlier settings.
      while (this.#startingAgain.has(number)) await this.#startingAgain.get(number);
      const former = this.#running.get(number);
      if (this.#isStopping || former === undefined) return false;
      const next = await this.#startedBeside(former);
      if (next === undefined) return false;
      // It has ended meanwhile.
      if (!this.#all.has(former)) continue;
      const place = { index: this.#listening.indexOf(former), count: this.#listening.length } satisfies SocketPlace;
      const isSpared = place.index >= 0 && (await next.talk.ask<boolean>('spare', place));
      if (isSpared !== true) {
        this.#log.warn('connections that are opened at this moment may be lost: the system cannot hand them over');
      }
      former.isLeaving = true;
      await former.talk.ask('retire');
      this.#lead(former, this.#running.get(number) ?? this.#anyRunning());
      const { idleSeconds, drainSeconds } = this.#start.settings;
      await this.#exitOf(former, (idleSeconds + drainSeconds) * 1000 + LAST_MS);
      await (this.#running.get(number) ?? this.#anyRunning())?.talk.ask('spare');
    }
    return true;
  }

  /** Another process with the number of a running one; undefined if it does not start. */
  async #startedBeside(former: Running): Promise<Running | undefined> {
    const { number } = former;
    this.#replaced = former;
    try {
      return await this.#begun(this.#spawn(number, false));
    } catch (error) {
      const why = error instanceof ExitWith ? 'the new one ended' : `it could not be started: ${causeOf(error)}`;
      const isThere = this.#running.get(number) === former;
      const end = isThere ? 'the earlier one goes on' : 'the earlier one has ended too, and is started again';
      this.#log.error(`process ${number} was not replaced, because ${why}: ${end}`);
      if (!isThere && !this.#isStopping) this.#startAgain(former);
      return undefined;
    } finally {
      this.#replaced = undefined;
    }
  }

  async #exitOf({ exited, kill }: Running, lastMs: number): Promise<void> {
    const timer = setTimeout(() => kill('SIGKILL'), lastMs);
    await exited;
    clearTimeout(timer);
  }

  #end(running: Running, how: string): void {
    const { number, pid } = running;
    this.#counts.release(pid);
    this.#forget(running);
    this.#all.delete(running);
    this.#ended = mergedReadings([
      ['', this.#ended],
      ['', endedReadings(running.readings)],
    ]);
    const wasRunning = this.#running.get(number) === running;
    if (wasRunning) this.#running.delete(number);
    if (this.#isStopping) return;
    this.#lead(running, this.#anyRunning());
    if (running.isLeaving || !wasRunning) return;
    this.#restarts.set(number, (this.#restarts.get(number) ?? 0) + 1);
    this.#log.error(`process ${number} ended (${how}), with the requests under way in it: it is started again`);
    // Its replacement takes its place.
    if (this.#replaced !== running) this.#startAgain(running);
  }

  #startAgain({ number, startedMs }: Running): void {
    const running = this.#runningAgain(number, startedMs).finally(() => this.#startingAgain.delete(number));
    this.#startingAgain.set(number, running);
  }

  async #runningAgain(number: number, startedMs: number): Promise<void> {
    let quick = performance.now() - startedMs < QUICK_MS ? 1 : 0;
    for (;;) {
      const nowMs = performance.now();
      const endsMs = (this.#endsMs.get(number) ?? []).filter((ms) => nowMs - ms < ENDS_MS);
      this.#endsMs.set(number, [...endsMs, nowMs]);
      if (endsMs.length + 1 >= ENDS_MAX) {
        this.#log.error(`process ${number} ended ${ENDS_MAX} times in ${ENDS_MS / 1000} s: the server stops`);
        this.#given.reject(new ExitWith(EXIT.failure));
        return;
      }
      await Bun.sleep(Math.min(PAUSE_MS.max, PAUSE_MS.min * 2 ** Math.max(0, quick - 1)));
      if (this.#isStopping) return;
      try {
        await this.#begun(this.#spawn(number, this.#leading === undefined));
        return;
      } catch (error) {
        if (!(error instanceof ExitWith)) {
          this.#log.error(`process ${number} could not be started: ${causeOf(error)}`);
        }
        quick += 1;
      }
    }
  }

  #anyRunning(): Running | undefined {
    return [...this.#running.values()][0];
  }

  /** `next` leads if `former` did. */
  #lead(former: Running, next: Running | undefined): void {
    if (this.#leading !== former) return;
    this.#leading = next;
    void next?.talk.ask('lead');
  }

  /** The socket of a process is closed: the kernel fills the gap in its list with the last one. */
  #forget(running: Running): void {
    const index = this.#listening.indexOf(running);
    if (index < 0) return;
    const last = this.#listening.pop()!;
    if (index < this.#listening.length) this.#listening[index] = last;
  }

  async #flushUsage(asking: Running): Promise<void> {
    const others = [...this.#all].filter((running) => running !== asking);
    await Promise.all(others.map(({ talk }) => talk.ask('flush', undefined, USAGE_MS_MAX)));
  }
}

function nameOf(running: Running, present: ReadonlyMap<number, Running>): string {
  return present.get(running.number) === running ? `${running.number}` : `${running.number} (replaced)`;
}
