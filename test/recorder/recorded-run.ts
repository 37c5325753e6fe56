import { join } from 'node:path';
import { SeededRandom } from '../../fixtures/random.ts';
import type { Gap } from '../../src/domain/gap.ts';
import type { Outcome } from '../../src/domain/outcome.ts';
import { Recorder, type RecorderOptions } from '../../src/recorder/recorder.ts';
import type { Archive } from '../../src/store/archive.ts';
import { importPaths, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { booksOf, marketOf } from '../support/imported.ts';
import { bookLine } from './book-ledger.ts';
import { type SimulatedClock, turn } from './simulated-clock.ts';
import type { Venue } from './venue-socket.ts';

type Choice = 'coins' | 'timeframes' | 'sockets' | 'aheadMs' | 'once' | 'before' | 'store';

/** A recorder's clock may be another one than the venue's. */
export type RunClock = Pick<SimulatedClock, 'nowUs' | 'after' | 'run'>;

/** The journal is written at least this often, so that a fast clock does not fill its queue. */
const STEP_MS = 10_000;
const NOTHING = {
  ...{ repeatedEvents: 0, hashesMatched: 0, hashesFailed: 0, gaps: 0 },
  ...{ doubtful: [], isWaiting: false, rejected: null },
};

/** A recorder in this process on a simulated clock. Its journal is imported when a test asks for its contents. */
export class RecordedRun implements Disposable {
  readonly recorder: Recorder;
  readonly log: string[] = [];
  readonly #clock: RunClock;
  readonly #directory: ReturnType<typeof temporaryDirectory>;
  /** Requests without an answer yet. */
  #asked = 0;

  constructor(
    venue: Venue,
    clock: RunClock,
    options: Partial<Pick<RecorderOptions, Choice>> = {},
    directory = temporaryDirectory(),
  ) {
    this.#clock = clock;
    this.#directory = directory;
    const random = new SeededRandom('recorder');
    this.recorder = new Recorder({
      ...{
        url: 'http://venue',
        socketUrl: 'http://venue',
        gammaUrl: 'http://venue',
        data: this.#directory.path,
        clock,
      },
      ...{ coins: ['btc'], timeframes: ['5m'], sockets: 2, aheadMs: 900_000 },
      random: () => random.unit(),
      connect: (_, events) => venue.connect(events),
      ask: async (url, body) => {
        this.#asked += 1;
        try {
          const { pathname, search } = new URL(url);
          const { status, text } = await venue.answer(`${pathname}${search}`, body);
          return { status, text: async () => text };
        } finally {
          this.#asked -= 1;
        }
      },
      store: async () => NOTHING,
      log: { info: (line) => void this.log.push(line), warn: (line) => void this.log.push(line) },
      disk: () => ({ freeBytes: null, floorBytes: 0 }),
      ...options,
    });
  }

  get directory() {
    return this.#directory;
  }

  /** Lets the recorder and its venue run. `each` is called every ten simulated seconds. */
  async run(untilMs: number, each: () => void = () => {}): Promise<void> {
    for (let atMs = this.#clock.nowUs() / 1000; atMs < untilMs; ) {
      atMs = Math.min(untilMs, atMs + STEP_MS);
      await this.#clock.run(atMs, async () => {
        do await turn();
        while (this.#asked > 0);
      });
      await this.recorder.store();
      each();
    }
  }

  /** Ends the recorder, and imports its journal into a new archive. */
  async contents(): Promise<ReturnType<typeof temporaryArchive>> {
    await this.recorder.stop();
    const place = temporaryArchive();
    const { rejections } = await importPaths(place.archive, join(this.#directory.path, 'journal'));
    // Gamma's market of another year is in the journal.
    const [first] = rejections.filter(({ reason }) => !reason.includes('and the window is stated as'));
    if (first !== undefined) throw new Error(`a line of the journal was rejected: ${JSON.stringify(first)}`);
    return place;
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
  }
}

/** The books of an outcome as lines of a BookLedger. */
export function linesOf(archive: Archive, slug: string, outcome: Outcome): string[] {
  return booksOf(archive, slug, outcome).map(({ timestampMs, book }) => bookLine(timestampMs, book));
}

export function gapsOf(archive: Archive, slug: string): readonly Gap[] {
  return archive.gaps.list(marketOf(archive, slug).key);
}
