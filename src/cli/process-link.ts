import { keyOf, type SettingValues } from '../config.ts';
import type { Reading } from '../http/metrics/metrics.ts';
import { SharedCounts } from '../http/plugins/shared-counts.ts';
import { KeySecret } from '../store/key-secret.ts';
import { type Certificate, certificateOf } from './certificate.ts';
import { type Answers, Conversation, type Message } from './conversation.ts';
import { PROCESS_VARIABLE } from './environment.ts';
import { machineClock } from './machine-clock.ts';
import { mappedMemory } from './shared-memory.ts';

/** The descriptor of the shared memory in such a process. */
const MEMORY_DESCRIPTOR = 3;

const OFFSET_READINGS = 20;

/** The settings that a server keeps until it is started again: the process that starts the others uses them. */
const FIXED = [
  ...(['data', 'host', 'port', 'processes', 'tlsCert', 'tlsKey'] as const),
  ...(['metricsHost', 'metricsPort', 'idleSeconds', 'drainSeconds'] as const),
  // See processCount.
  'payments' as const,
];
export type FixedSettings = Pick<SettingValues, (typeof FIXED)[number]>;

export function fixedSettings(options: FixedSettings): FixedSettings {
  return Object.fromEntries(FIXED.map((name) => [name, options[name]])) as FixedSettings;
}

/** Everything that a process of a server gets from the one that has started it. */
export interface ProcessStart {
  /** As given. */
  readonly settings: FixedSettings;
  /** The port that is listened on. */
  readonly port: number;
  readonly processes: number;
  readonly certificate: Pick<Certificate, 'cert' | 'key'> | undefined;
  /** See SharedWindows. */
  readonly seed: string;
  /** Signs view tokens: hexadecimal. */
  readonly secret: string;
  readonly isLeading: boolean;
  readonly errIsTerminal: boolean;
}

/** The place of a socket in the list of those that share the port, and the length of the list. */
export interface SocketPlace {
  readonly index: number;
  readonly count: number;
}

/** The work of a process that the others ask for. */
export interface Served {
  readonly flushUsage: () => void;
  readonly readings: () => Reading[];
  /** Gets the error of such work. */
  readonly onFailure: (question: string, error: unknown) => void;
  /** New connections go to other sockets than this one; undefined: to all. Returns false if that cannot be done. */
  readonly spare: (place: SocketPlace | undefined) => boolean;
}

/**
 * A process of a server, and its link to the process that has started it. That one's orders stop it; signals do not, since terminals and
 * service managers send them to all processes. It stops too when that one has ended.
 */
export class ProcessLink {
  readonly start: ProcessStart;
  readonly counts: SharedCounts;
  readonly tokenSecret: KeySecret;
  readonly certificate: { readonly current: Certificate } | undefined;
  /** Settles when another process takes the place of this one. */
  readonly retired: Promise<void>;
  readonly signals: { readonly first: Promise<void>; readonly second: Promise<void> };
  /** The same clock in all processes of a machine. */
  readonly monotonicMs = machineClock();
  readonly #parent: Conversation;
  readonly #duties = new Set<Duty>();
  #isLeading: boolean;
  #isRetired = false;
  private served: Served | undefined;

  /** `clock`: the wall clock. The link of this process; undefined if no server has started it. */
  static async open(clock: () => number): Promise<ProcessLink | undefined> {
    if (process.env[PROCESS_VARIABLE] === undefined || process.send === undefined) return undefined;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
    const { promise: started, resolve } = Promise.withResolvers<ProcessStart>();
    const [retired, first, second] = [0, 1, 2].map(() => Promise.withResolvers<void>());
    let link: ProcessLink | undefined;
    const send = (message: Message) => void process.send?.(message, undefined, undefined, () => undefined);
    const answers: Answers = {
      start: (start: ProcessStart) => resolve(start),
      lead: () => link?.lead(true),
      flush: () => link?.served?.flushUsage(),
      readings: () => link?.served?.readings(),
      requests: () => link?.counts.requests,
      spare: (place: SocketPlace | undefined) => link?.served?.spare(place),
      retire: () => {
        link?.retire();
        retired!.resolve();
      },
      stop: () => first!.resolve(),
      stopNow: () => second!.resolve(),
    };
    const parent = new Conversation(send, answers, (question, error) => link?.served?.onFailure(question, error));
    process.on('message', (message: Message) => parent.receive(message));
    process.once('disconnect', () => {
      parent.close();
      first!.resolve();
    });
    const signals = { first: first!.promise, second: second!.promise };
    link = new ProcessLink(parent, await started, retired!.promise, signals, clock);
    return link;
  }

  private constructor(
    parent: Conversation,
    start: ProcessStart,
    retired: Promise<void>,
    signals: ProcessLink['signals'],
    clock: () => number,
  ) {
    this.#parent = parent;
    this.start = start;
    this.retired = retired;
    this.signals = signals;
    this.counts = new SharedCounts(mappedMemory(MEMORY_DESCRIPTOR), BigInt(start.seed), process.pid, () =>
      offsetMs(clock, this.monotonicMs),
    );
    this.tokenSecret = KeySecret.of(Buffer.from(start.secret, 'hex'));
    const { certificate } = start;
    this.certificate = certificate && { current: certificateOf(certificate.cert, certificate.key) };
    this.#isLeading = start.isLeading;
  }

  /** True as soon as `retired` settles. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** True for the one process that does what a server does once: it tries stored mails, compares payments, watches the disk. */
  get isLeading(): boolean {
    return this.#isLeading;
  }

  /** `begin` begins what only the leading process does; that ends when another one leads, and when this is disposed of. */
  whileLeading(begin: () => Disposable): Disposable {
    const duty = new Duty(begin);
    this.#duties.add(duty);
    duty.follow(this.#isLeading);
    return {
      [Symbol.dispose]: () => {
        this.#duties.delete(duty);
        duty.follow(false);
      },
    };
  }

  /** The keys of settings whose values have changed, and are not used before the server is started again: the first process says so. */
  unusedChanges(options: FixedSettings): string[] {
    if (process.env[PROCESS_VARIABLE] !== '1') return [];
    return FIXED.filter((name) => options[name] !== this.start.settings[name]).map(keyOf);
  }

  /** Another process takes the place of this one, and leads if this one does. */
  retire(): void {
    this.#isRetired = true;
    this.lead(false);
  }

  lead(isLeading: boolean): void {
    this.#isLeading = isLeading;
    for (const duty of this.#duties) duty.follow(isLeading);
  }

  /** Answers the other processes with `served`, until the returned object is disposed of: they keep its last counts. */
  serve(served: Served): AsyncDisposable {
    this.served = served;
    return {
      [Symbol.asyncDispose]: async () => {
        this.served = undefined;
        await this.#parent.ask('ended', served.readings());
      },
    };
  }

  /** Says whether this process accepts connections. */
  readonly listens = (isListening: boolean): void => {
    void this.#parent.ask(isListening ? 'listening' : 'refusing');
  };

  /** Settles when the other processes have stored their usage. */
  readonly gatherUsage = async (): Promise<void> => {
    await this.#parent.ask('gather');
  };
}

/** A clock minus that of the machine. A process that is interrupted between its two readings finds too much. */
function offsetMs(clock: () => number, machineMs: () => number): number {
  return Math.round(
    Math.min(
      ...Array.from({ length: OFFSET_READINGS }, () => {
        const monotonicMs = machineMs();
        return clock() - monotonicMs;
      }),
    ),
  );
}

/** Begins what only one process of a server does; a server that is one process does it. */
export function whileLeading(link: ProcessLink | undefined, begin: () => Disposable): Disposable {
  return link === undefined ? begin() : link.whileLeading(begin);
}

/** Work that begins and ends again. */
class Duty {
  readonly #begin: () => Disposable;
  #running: Disposable | undefined;

  constructor(begin: () => Disposable) {
    this.#begin = begin;
  }

  follow(isLeading: boolean): void {
    if (isLeading) this.#running ??= this.#begin();
    else {
      this.#running?.[Symbol.dispose]();
      this.#running = undefined;
    }
  }
}
