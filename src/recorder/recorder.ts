import { countText } from '../domain/count-text.ts';
import type { InstantMs } from '../domain/instant.ts';
import { LISTED_MAX, type RecorderStatus } from '../domain/recorder-status.ts';
import type { Timeframe } from '../domain/timeframe.ts';
import { announcedSlugs, channelEvents } from '../venue/channel-events.ts';
import { windowOfSlug } from '../venue/slug.ts';
import { newerBooks } from './book-evidence.ts';
import { EarlierRecorder } from './earlier-recorder.ts';
import { gammaListings } from './gamma-listing.ts';
import { Journal, type JournalPosition } from './journal.ts';
import type { MarketChannel } from './market-channel.ts';
import { PriceFeed } from './price-feed.ts';
import { NOT_RUNNING, WindowRecord } from './recorded-window.ts';
import type { RecorderClock } from './recorder-clock.ts';
import { SocketLane } from './socket-lane.ts';
import { SocketShards } from './socket-shards.ts';
import type { WatchedAsset } from './watched-asset.ts';
import type { Ask, Connect } from './web-connection.ts';
import { type ScheduledWindow, windowsUntil } from './window-schedule.ts';
import { WrittenGaps } from './written-gaps.ts';

const LOOK_MS = 1000;
/** Gamma is asked again after this time, plus up to twice as much at random. */
const LIST_MS = 5000;
/** From the start of one store to that of the next, if it does not take longer. With a second of writing, the archive is six seconds behind. */
const STORE_MS = 4000;
const EVIDENCE_MS = 10_000;
/** An asset is silent after this time without a message, and so is a connection. */
const SILENT_MS = 20_000;
/** A first book is waited for this long before the subscription is repeated, and again before the connection is replaced. */
const FIRST_BOOK_MS = 30_000;
/** The pause between two replacements of connections for one asset. */
const REPLACED_AGAIN_MS = 10 * 60_000;
/** Windows are in the state for this time after their end. */
const WINDOWS_KEPT_MS = 3_600_000;
const OFFSETS_KEPT = 1000;
const DELAYS_KEPT = 100;
const US_PER_MS = 1000;
/** The number of the feed of prices in the journal; connections to the channel count from 1. */
const PRICE_SOCKET = 0;
/** An open socket answers PING, which is sent every ten seconds. */
const ALIVE_MS_MAX = 12_000;
/** After a longer step of the wall clock another recorder begins. */
const STEP_MS_MAX = 5000;
const STOP_ATTEMPTS = 3;

/** The counts of a part of the journal that was stored. */
export interface StoredCounts {
  readonly repeatedEvents: number;
  readonly hashesMatched: number;
  readonly hashesFailed: number;
  /** Gaps that hashes and books show, besides those that the recorder wrote. */
  readonly gaps: number;
  /** The assets whose last messages were dropped, because hashes show that changes before them are missing. */
  readonly doubtful: readonly string[];
  /** True if the last lines wait for those that follow. */
  readonly isWaiting: boolean;
  /** The lines that could not be stored, and the reason of the first; null without any. */
  readonly rejected: { readonly lines: number; readonly reason: string } | null;
}

/** The counts of a part of the journal that are summed up. */
export const COUNTED = ['repeatedEvents', 'hashesMatched', 'hashesFailed', 'gaps'] as const;

/**
 * Stores the journal up to a position in the archive. It may be called again with a position that is already stored. `isLast`: nothing
 * follows soon.
 */
export type StoreJournal = (until: JournalPosition, isLast: boolean) => Promise<StoredCounts>;

export interface RecorderOptions {
  /** The HTTP bases of the venue's REST API, of its sockets (at /ws/market) and of Gamma. */
  readonly url: string;
  readonly socketUrl: string;
  readonly gammaUrl: string;
  /** The socket of the coins' prices; undefined: they are not recorded. */
  readonly pricesUrl?: string | undefined;
  readonly coins: readonly string[];
  readonly timeframes: readonly Timeframe[];
  /** A window's market is first asked for this long before the window. */
  readonly aheadMs: number;
  /** The number of sockets that bring each asset. */
  readonly sockets: number;
  /** Records the window of this slug only, and waits for its winner for `afterMs` after its end. */
  readonly once?: string | undefined;
  readonly afterMs?: number;
  /** The data directory. */
  readonly data: string;
  readonly clock: RecorderClock;
  readonly random?: () => number;
  readonly connect: Connect;
  readonly ask: Ask;
  readonly store: StoreJournal;
  readonly log: { info(line: string): void; warn(line: string): void };
  /** For the status: older markets are deleted. */
  readonly keepMs?: number | undefined;
  /** The free bytes of the disk, and how many of them the recorder leaves. */
  readonly disk: () => { readonly freeBytes: number | null; readonly floorBytes: number };
  /** The state that the recorder before this one wrote last. */
  readonly before?: RecorderStatus | undefined;
}

/**
 * Records the up-or-down markets of the venue: finds their windows by the clock, subscribes their assets on several sockets, writes all
 * frames to the journal, and stores the journal every four seconds. Where messages are missing it writes a gap.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #clock: RecorderClock;
  readonly #random: () => number;
  readonly #journal: Journal;
  readonly #shards: SocketShards;
  readonly #gaps: WrittenGaps;
  readonly #earlier: EarlierRecorder;
  readonly #records = new Map<string, WindowRecord>();
  readonly #watched = new Map<string, WatchedAsset>();
  readonly #timers = new Set<Disposable>();
  readonly #startedMs: InstantMs;
  /** Those of the last messages, in a ring. */
  readonly #offsets: number[] = [];
  #offsetCount = 0;
  #firstBookDelays: number[] = [];
  #written: JournalPosition | undefined;
  #stored: JournalPosition | undefined;
  #storing: Promise<void> = Promise.resolve();
  #connections = 0;
  #feed: PriceFeed | undefined;
  #isWaiting = false;
  #isStopped = false;
  #refusesFrames = false;
  #problem: string | null = null;
  #totals = {
    frames: 0,
    events: 0,
    repeatedEvents: 0,
    hashesMatched: 0,
    hashesFailed: 0,
    windows: 0,
    gaps: 0,
    resubscriptions: 0,
  };
  /** Settles when the window of `once` is over, when recording is not possible, or when a new recorder should take its place. */
  readonly ended: Promise<'over' | 'failed' | 'restart'>;
  readonly #end: (why: 'over' | 'failed' | 'restart') => void;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#random = options.random ?? Math.random;
    this.#startedMs = this.#nowMs();
    const { promise, resolve } = Promise.withResolvers<'over' | 'failed' | 'restart'>();
    this.ended = promise;
    this.#end = resolve;
    this.#journal = new Journal(
      options.data,
      this.#clock,
      (position) => {
        this.#written = position;
      },
      (error) => this.#fail(`the journal cannot be written: ${messageOf(error)}`),
    );
    this.#gaps = new WrittenGaps(this.#journal, this.#clock);
    this.#earlier = new EarlierRecorder(options.before);
    this.#shards = new SocketShards(this.#clock, options.sockets, (number) => this.#newLane(number));
  }

  start(): void {
    this.#earlier.writeEnded(this.#gaps, this.#startedMs);
    this.#takeUnresolved();
    this.#feed = this.#openFeed();
    this.#look();
    this.#every(LOOK_MS, () => this.#look());
    this.#every(EVIDENCE_MS, () => void this.#compareBooks());
    this.#storeLater();
    this.#listAgain(0);
  }

  /**
   * Stops the sockets, writes the journal and stores it: false if that failed three times. What is missing from now on becomes a gap when
   * the next recorder starts.
   */
  async stop(): Promise<boolean> {
    this.#isStopped = true;
    for (const timer of this.#timers) timer[Symbol.dispose]();
    this.#shards[Symbol.dispose]();
    this.#feed?.[Symbol.dispose]();
    let isStored = await this.store();
    for (let attempt = 1; !isStored && attempt < STOP_ATTEMPTS; attempt += 1) isStored = await this.store();
    await this.#journal.close();
    return isStored;
  }

  /** Writes what has arrived, and stores it, after a store that is under way. Returns false if it was not stored. */
  async store(): Promise<boolean> {
    const before = this.#storing.catch(() => undefined);
    this.#storing = before.then(async () => {
      await this.#journal.flush();
      const until = this.#written;
      if (until === undefined || (until === this.#stored && !this.#isWaiting)) return;
      const counts = await this.#options.store(until, this.#isStopped);
      this.#isWaiting = counts.isWaiting;
      this.#stored = until;
      for (const name of COUNTED) this.#totals[name] += counts[name];
      this.#renewDoubtful(counts.doubtful);
      const { rejected } = counts;
      if (rejected !== null)
        this.#options.log.warn(
          `${countText(rejected.lines, 'line')} of the journal cannot be stored: ${rejected.reason}`,
        );
    });
    try {
      await this.#storing;
      return true;
    } catch (error) {
      this.#options.log.warn(`the journal was not stored: ${messageOf(error)}`);
      return false;
    }
  }

  /** One store at a time: an archive that another import keeps busy must not collect them. */
  #storeLater(pauseMs = STORE_MS): void {
    this.#after(pauseMs, () => {
      const startUs = this.#clock.nowUs();
      const takenMs = () => (this.#clock.nowUs() - startUs) / US_PER_MS;
      void this.store().finally(() => this.#storeLater(Math.max(0, STORE_MS - takenMs())));
    });
  }

  status(): RecorderStatus {
    const nowMs = this.#nowMs();
    const records = [...this.#records.values()];
    const byStart = (a: WindowRecord, b: WindowRecord) => a.window.startMs - b.window.startMs;
    const [open, ended] = [true, false].map((isOpen) =>
      records.filter(({ window }) => window.endMs > nowMs === isOpen),
    );
    const windows = [...open!.sort(byStart), ...ended!.sort((a, b) => byStart(b, a))].slice(0, LISTED_MAX);
    const { url, gammaUrl, coins, timeframes } = this.#options;
    const delays = [...this.#firstBookDelays].sort((a, b) => a - b);
    const ms = (position: JournalPosition | undefined) =>
      position === undefined ? null : Math.floor(position.receivedUs / US_PER_MS);
    return {
      ...{ version: 1, processId: process.pid, startedMs: this.#startedMs, writtenMs: nowMs },
      ...{ url, gammaUrl, coins, timeframes },
      sockets: this.#shards.lanes.map((lane) => lane.status()),
      windows: windows.map((record) => record.status(nowMs)),
      gaps: [...this.#gaps.openOf(this.#watched.values()), ...this.#gaps.listed].slice(0, LISTED_MAX),
      missed: this.#gaps.missed,
      totals: { ...this.#totals, gaps: this.#totals.gaps + this.#gaps.count, windowsMissed: this.#gaps.missedCount },
      firstBookDelayMs: delays.length === 0 ? null : { median: medianOf(delays), max: delays.at(-1)! },
      journal: {
        file: this.#journal.fileName,
        queuedBytes: this.#journal.queuedBytes,
        writtenBytes: this.#journal.writtenBytes,
        storedMs: ms(this.#stored),
        writtenUntilMs: ms(this.#written),
      },
      clock: {
        offsetMs: this.#offsets.length === 0 ? null : medianOf([...this.#offsets].sort((a, b) => a - b)),
        steps: this.#clock.steps ?? 0,
      },
      keepMs: this.#options.keepMs ?? null,
      disk: this.#options.disk(),
      problem: this.#problem,
    };
  }

  #look(): void {
    const nowMs = this.#nowMs();
    const step = this.#clock.takeStep?.();
    if (step !== undefined) this.#options.log.warn(`the clock of this machine was set by ${Math.round(step)} ms`);
    // Timeouts and windows are those of the clock before, and so is the offset by which the next recorder begins its gaps.
    if (Math.abs(step ?? 0) > STEP_MS_MAX) this.#end('restart');
    else if (step !== undefined) this.#offsets.length = this.#offsetCount = 0;
    this.#schedule(nowMs);
    const { freeBytes, floorBytes } = this.#options.disk();
    if (freeBytes !== null && freeBytes < floorBytes) {
      this.#fail(
        'the disk has less free space than --disk-floor, so the recorder stops: free some space, then start it again',
      );
      return;
    }
    for (const record of this.#records.values()) this.#follow(record, nowMs);
    this.#watchChannels();
    this.#gaps.forget(nowMs);
  }

  /** Adds the windows of which the recorder before had no winner yet. */
  #takeUnresolved(): void {
    const { once, coins, timeframes } = this.#options;
    for (const window of once === undefined ? this.#earlier.unresolved(this.#startedMs) : []) {
      if (!coins.includes(window.symbol) || !timeframes.includes(window.timeframe)) continue;
      const record = new WindowRecord(window, this.#earlier.recordingOf(window.slug));
      record.isSettled = true;
      this.#records.set(window.slug, record);
    }
  }

  /** Adds the windows that have come into reach, and forgets those that are over. */
  #schedule(nowMs: InstantMs): void {
    for (const window of this.#wantedWindows(nowMs)) {
      if (this.#records.has(window.slug)) continue;
      this.#records.set(window.slug, new WindowRecord(window, this.#earlier.recordingOf(window.slug)));
    }
    for (const [slug, record] of this.#records) {
      const { window, isSubscribed } = record;
      const isOver = nowMs - window.endMs > WINDOWS_KEPT_MS && slug !== this.#options.once;
      if (isOver && !isSubscribed && !record.isAskedFor(nowMs)) this.#records.delete(slug);
    }
  }

  #wantedWindows(nowMs: InstantMs): readonly ScheduledWindow[] {
    const { once, coins, timeframes, aheadMs } = this.#options;
    if (once === undefined) return windowsUntil(coins, timeframes, nowMs, nowMs + aheadMs);
    const window = windowOfSlug(once, nowMs);
    return window === undefined || this.#records.has(once) ? [] : [{ ...window, slug: once }];
  }

  #follow(record: WindowRecord, nowMs: InstantMs): void {
    const { window, market } = record;
    // One in progress at the start is recorded from now on.
    const isLate = market === undefined && nowMs >= window.startMs && window.startMs >= this.#startedMs;
    if (isLate && !record.isMissed) this.#miss(record, nowMs);
    const isWanted = record.isWanted(nowMs);
    if (isWanted && !record.isSubscribed) this.#subscribe(record, nowMs);
    if (!isWanted && record.isSubscribed) this.#unsubscribe(record);
    if (record.isSubscribed && nowMs >= window.startMs) this.#loseUnbegun(record);
    if (nowMs >= window.endMs && !record.isSettled) {
      record.isSettled = true;
      if (market === undefined && record.isMissed) this.#gaps.writeMissed(window);
      else this.#gaps.writeEarlier(record.earlier, window);
    }
    const { once, afterMs = 0 } = this.#options;
    const isOver = nowMs >= window.endMs + afterMs && !isWanted;
    // Gamma may not answer: the end waits for it a moment only.
    const isAnswered = record.asked > 0 || market === undefined || nowMs >= window.endMs + afterMs + EVIDENCE_MS;
    if (once === window.slug && isOver && isAnswered) this.#end('over');
  }

  #subscribe(record: WindowRecord, nowMs: InstantMs): void {
    for (const asset of record.assets) this.#watched.set(asset.id, asset);
    record.isSettled = true;
    for (const [index, asset] of record.assets.entries()) {
      const fromMs = record.earlier?.fromMs[index] ?? null;
      if (fromMs !== null) asset.loseSince(fromMs, NOT_RUNNING);
    }
    if (nowMs >= record.window.startMs) this.#loseUnbegun(record);
    this.#shards.subscribe(record.assets.map(({ id }) => id));
    record.isSubscribed = true;
  }

  #unsubscribe(record: WindowRecord): void {
    this.#shards.unsubscribe(record.assets.map(({ id }) => id));
    for (const asset of record.assets) {
      this.#gaps.endLoss(asset, record.window.endMs);
      this.#watched.delete(asset.id);
    }
    record.isSubscribed = false;
    if (record.hasBooks) this.#totals.windows += 1;
  }

  /** A window has begun without a book of an asset: it is missing from the start, if a recorder was running then. */
  #loseUnbegun({ window: { startMs }, assets, isMissed }: WindowRecord): void {
    if (startMs < this.#startedMs && !isMissed) return;
    for (const asset of assets) {
      if (asset.firstBookUs === undefined) asset.loseSince(startMs, 'no book had come when the window began');
    }
  }

  #miss(record: WindowRecord, nowMs: InstantMs): void {
    record.isMissed = true;
    const { slug, startMs } = record.window;
    this.#gaps.noteMissed(record.window);
    this.#options.log.warn(
      `the window of ${slug} has begun without a market (${Math.round((nowMs - startMs) / 1000)} s ago)`,
    );
  }

  #openFeed(): PriceFeed | undefined {
    const { pricesUrl: url, coins, connect, ask, log } = this.#options;
    if (url === undefined) return undefined;
    return new PriceFeed({
      ...{ url, coins, connect, ask, clock: this.#clock },
      onFrame: (frame, receivedUs) => void this.#journal.append({ receivedUs, socket: PRICE_SOCKET, frame }),
      onEnd: (reason) => log.warn(`the feed of prices has ended, and will be opened again: ${reason}`),
    });
  }

  #newLane(number: number): SocketLane {
    const { socketUrl: url, connect, ask } = this.#options;
    return new SocketLane({
      ...{ number, url, connect, ask, clock: this.#clock, random: this.#random },
      nextId: () => {
        this.#connections += 1;
        return this.#connections;
      },
      onFrame: (channel, text, receivedUs) => this.#take(channel, text, receivedUs),
      onEnd: (lane, channel, reason, isReplaced) => {
        if (this.#isStopped) return;
        if (isReplaced) this.#options.log.info(`socket ${lane.number} was replaced: ${reason}`);
        else this.#options.log.warn(`socket ${lane.number} has ended: ${reason}`);
        for (const id of channel.books) this.#loseUncovered(id, channel, reason);
      },
    });
  }

  #take(channel: MarketChannel, text: string, receivedUs: number): void {
    this.#totals.frames += 1;
    if (announcedSlugs(text)?.some((slug) => this.#records.has(slug)) === false) return;
    if (!this.#journal.append({ receivedUs, socket: channel.id, frame: text })) {
      this.#refuse();
      return;
    }
    this.#refusesFrames = false;
    for (const event of channelEvents(text)) {
      this.#totals.events += 1;
      const asset = this.#watched.get(event.assetId);
      if (asset === undefined) continue;
      if (event.isBook && !channel.books.has(asset.id)) this.#noteFirstBook(channel, asset.id, receivedUs);
      else {
        channel.lastNewsUs = receivedUs;
        // A first book has the time of its last change, which may be long ago.
        if (event.isOfBook) this.#noteOffset(receivedUs / US_PER_MS - event.timestampMs);
      }
      const loss = asset.take(event, receivedUs);
      if (loss !== undefined) this.#gaps.writeLoss(asset, loss, event.timestampMs);
    }
  }

  /** The disk is too slow: what arrives now is lost. */
  #refuse(): void {
    if (!this.#refusesFrames) this.#options.log.warn('the disk does not keep up: frames are lost');
    this.#refusesFrames = true;
    const sinceMs = this.#venueMs(this.#clock.nowUs());
    for (const asset of this.#watched.values()) asset.lose(sinceMs, 'the disk of the recorder did not keep up');
  }

  #noteFirstBook(channel: MarketChannel, id: string, receivedUs: number): void {
    channel.books.add(id);
    const subscribed = channel.subscribed.get(id);
    if (subscribed === undefined) return;
    const delayMs = Math.max(0, Math.round((receivedUs - subscribed.us) / US_PER_MS));
    this.#firstBookDelays = [...this.#firstBookDelays.slice(1 - DELAYS_KEPT), delayMs];
  }

  #noteOffset(offsetMs: number): void {
    this.#offsets[this.#offsetCount % OFFSETS_KEPT] = Math.round(offsetMs);
    this.#offsetCount += 1;
  }

  /**
   * Messages of an asset are lost since the last sign of life of the sockets that brought it, unless one of them is alive: a socket that
   * answers no PING is dead for some time before it ends.
   */
  #loseUncovered(id: string, ended: MarketChannel, reason: string): void {
    const others = this.#shards.lanesOf(id).flatMap((lane) => lane.channels.filter(({ books }) => books.has(id)));
    const limitUs = this.#clock.nowUs() - ALIVE_MS_MAX * US_PER_MS;
    if (others.some(({ lastAliveUs }) => lastAliveUs > limitUs)) return;
    const aliveUs = Math.max(...[ended, ...others].map(({ lastAliveUs }) => lastAliveUs));
    this.#watched.get(id)?.lose(this.#venueMs(aliveUs), `no socket was open (${reason})`);
  }

  /** Repeats subscriptions that were not answered, and replaces connections that bring nothing while others do. */
  #watchChannels(): void {
    const nowUs = this.#clock.nowUs();
    for (const lane of this.#shards.lanes) {
      for (const channel of lane.channels) {
        for (const [id, { us, repeated }] of channel.subscribed) {
          if (channel.books.has(id) || nowUs - us < FIRST_BOOK_MS * US_PER_MS) continue;
          if (repeated === 0) {
            this.#totals.resubscriptions += 1;
            channel.repeat(id);
          } else this.#replaceFor(id, lane, nowUs);
        }
      }
      if (this.#isFrozen(lane, nowUs)) lane.replace('it brought no frames for 20 s while another socket did', true);
    }
  }

  /** A new connection may get the book of an asset; if it does not either, another one is tried later. */
  #replaceFor(id: string, lane: SocketLane, nowUs: number): void {
    const asset = this.#watched.get(id);
    if (asset === undefined || nowUs - asset.replacedUs < REPLACED_AGAIN_MS * US_PER_MS) return;
    if (lane.replace('the venue did not answer a subscription', false)) asset.replacedUs = nowUs;
  }

  #isFrozen(lane: SocketLane, nowUs: number): boolean {
    const limitUs = nowUs - SILENT_MS * US_PER_MS;
    const [channel] = lane.channels;
    if (channel === undefined || channel.openedUs! > limitUs || (channel.lastNewsUs ?? 0) > limitUs) return false;
    // Without a book its subscription was not answered, which is repeated on the same connection.
    if (channel.books.size === 0) return false;
    const [id] = channel.assets;
    const others = id === undefined ? [] : this.#shards.lanesOf(id).filter((other) => other !== lane);
    return others.some((other) => other.channels.some(({ lastNewsUs }) => (lastNewsUs ?? 0) > limitUs));
  }

  /** One request for all books: an asset that has been silent while the venue has a newer book of it has lost messages. */
  async #compareBooks(): Promise<void> {
    // The venue clears the books of markets that have ended.
    const assets = [...this.#records.values()]
      .filter(({ isSubscribed, window }) => isSubscribed && this.#nowMs() < window.endMs)
      .flatMap((record) => record.assets.filter(({ firstBookUs }) => firstBookUs !== undefined));
    if (assets.length === 0) return;
    try {
      const silentUs = this.#clock.nowUs() - SILENT_MS * US_PER_MS;
      const silent = new Set(assets.filter(({ lastEventUs }) => lastEventUs! < silentUs));
      for (const [id, hash] of await newerBooks(this.#options.url, assets, this.#options.ask)) {
        const asset = this.#watched.get(id);
        if (asset === undefined || !silent.has(asset) || asset.lastEventUs! >= silentUs) continue;
        this.#renew(asset, hash);
      }
    } catch (error) {
      this.#options.log.warn(`books could not be compared: ${messageOf(error)}`);
    }
  }

  /** Subscribes an asset again on all its sockets; if that was done for this book before, replaces the sockets. */
  #renew(asset: WatchedAsset, hash: string): void {
    const isRepeated = asset.newerHash === hash;
    asset.newerHash = hash;
    asset.loseSince(asset.lastMs, 'the sockets brought nothing while the venue had newer books');
    this.#totals.resubscriptions += 1;
    for (const lane of this.#shards.lanesOf(asset.id)) {
      if (isRepeated) lane.replace('it brought nothing while the venue had newer books', true);
      else for (const channel of lane.channels) channel.repeat(asset.id);
    }
  }

  /** Subscribes assets again whose changes are missing on all sockets: the venue then sends their books. */
  #renewDoubtful(ids: readonly string[]): void {
    for (const id of ids) {
      const asset = this.#watched.get(id);
      const nowUs = this.#clock.nowUs();
      if (asset === undefined || nowUs - asset.renewedUs < FIRST_BOOK_MS * US_PER_MS) continue;
      asset.renewedUs = nowUs;
      this.#totals.resubscriptions += 1;
      for (const lane of this.#shards.lanesOf(id)) for (const channel of lane.channels) channel.repeat(id);
    }
  }

  #listAgain(ms: number): void {
    this.#after(ms, () => {
      void this.#list().finally(() => this.#listAgain(LIST_MS * (1 + 2 * this.#random())));
    });
  }

  async #list(): Promise<void> {
    try {
      const nowMs = this.#nowMs();
      const asked = [...this.#records.values()].filter((record) => record.isAskedFor(nowMs));
      // Both before the first answer, which lists some.
      const [unlisted, unresolved] = [false, true].map((isListed) =>
        asked.filter((record) => record.isKnown(nowMs) === isListed),
      );
      await this.#listRecords(unlisted!, false);
      await this.#listRecords(unresolved!, true);
    } catch (error) {
      this.#options.log.warn(`Gamma could not be asked: ${messageOf(error)}`);
    }
  }

  /** Asks for the markets of windows; `isClosed`: for the winners of those that are known. */
  async #listRecords(records: readonly WindowRecord[], isClosed: boolean): Promise<void> {
    const { gammaUrl, ask, log } = this.#options;
    const windows = records.map(({ window }) => window);
    for await (const { text, markets } of gammaListings(gammaUrl, windows, isClosed, ask)) {
      let isNews = false;
      for (const [slug, market] of markets) isNews = this.#records.get(slug)?.list(market) === true || isNews;
      if (isNews) this.#journal.append({ receivedUs: this.#clock.nowUs(), gamma: text }, { isForced: true });
    }
    if (!isClosed) return;
    for (const record of records) {
      record.asked += 1;
      if (record.state(this.#nowMs()) !== 'unresolved') continue;
      log.warn(
        `Gamma states no ${record.missingFacts().join(', no ')} of ${record.window.slug} 30 minutes after its end`,
      );
    }
  }

  #fail(problem: string): void {
    if (this.#problem !== null) return;
    this.#problem = problem;
    this.#options.log.warn(problem);
    const sinceMs = this.#venueMs(this.#clock.nowUs());
    for (const asset of this.#watched.values()) asset.lose(sinceMs, problem);
    this.#end('failed');
  }

  /** The venue's time at an arrival, or earlier: the clock of this machine may be ahead. */
  #venueMs(us: number): InstantMs {
    const aheadMs = this.#offsets.length === 0 ? 0 : Math.max(0, Math.min(...this.#offsets));
    return Math.floor(us / US_PER_MS) - aheadMs;
  }

  #nowMs(): InstantMs {
    return Math.floor(this.#clock.nowUs() / US_PER_MS);
  }

  #every(ms: number, work: () => void): void {
    this.#after(ms, () => {
      this.#every(ms, work);
      try {
        work();
      } catch (error) {
        // The disk may not say how full it is, for example: the next time it may.
        this.#options.log.warn(`the recorder could not do its work, and tries again: ${messageOf(error)}`);
      }
    });
  }

  #after(ms: number, work: () => void): void {
    if (this.#isStopped) return;
    const timer = this.#clock.after(ms, () => {
      this.#timers.delete(timer);
      if (!this.#isStopped) work();
    });
    this.#timers.add(timer);
  }
}

function medianOf(ascending: readonly number[]): number {
  return ascending[ascending.length >> 1]!;
}

/** The message of what was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
