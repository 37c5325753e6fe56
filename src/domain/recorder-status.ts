import type { InstantMs } from './instant.ts';
import type { Outcome } from './outcome.ts';
import type { Timeframe } from './timeframe.ts';

/** A connection to the venue's market channel. */
export interface RecorderSocket {
  /** From 1; a connection that replaces another one has its number. */
  readonly number: number;
  readonly state: 'connecting' | 'open' | 'waiting';
  readonly openedMs: InstantMs | null;
  /** The next attempt; null unless it is waiting. */
  readonly retryMs: InstantMs | null;
  readonly assets: number;
  readonly frames: number;
  readonly lastFrameMs: InstantMs | null;
  readonly reconnects: number;
  /** Why the last connection ended, as a sentence; null before the first end. */
  readonly lastEnd: string | null;
}

/**
 * `wanted`: Gamma has not listed its market yet; `listed`: its assets are not subscribed yet; `subscribed`: waiting for the first books
 * or for the window's start; `recording`: in the window; `ended`: waiting for the winner and the prices; `resolved`: all is known;
 * `unresolved`: given up 30 minutes after the end; `missed`: its window began without a market.
 */
export type WindowState =
  | 'wanted'
  | 'listed'
  | 'subscribed'
  | 'recording'
  | 'ended'
  | 'resolved'
  | 'unresolved'
  | 'missed';

/** A window that is recorded, or was recently. */
export interface RecordedWindow {
  readonly slug: string;
  readonly symbol: string;
  readonly timeframe: Timeframe;
  readonly startMs: InstantMs;
  readonly endMs: InstantMs;
  readonly conditionId: string | null;
  readonly state: WindowState;
  /** Arrival of the first book and of the last message, of up and of down; null before it. */
  readonly firstBookMs: readonly [InstantMs | null, InstantMs | null];
  readonly lastEventMs: readonly [InstantMs | null, InstantMs | null];
  readonly gaps: number;
}

export interface RecorderGap {
  readonly slug: string;
  /** Null for both outcomes. */
  readonly outcome: Outcome | null;
  readonly fromMs: InstantMs;
  /** Null while the gap is open. */
  readonly toMs: InstantMs | null;
  readonly reason: string;
}

export interface MissedWindow {
  readonly slug: string;
  readonly startMs: InstantMs;
  readonly reason: string;
}

/**
 * The state of `bookreel record`, which it writes to the data directory every second as `recorder.json`. Lists have at most
 * LISTED_MAX entries, the latest first.
 */
export interface RecorderStatus {
  readonly version: 1;
  readonly processId: number;
  readonly startedMs: InstantMs;
  /** When this was written: a recorder that still runs wrote it in the last seconds. */
  readonly writtenMs: InstantMs;
  /** The addresses that it records from. */
  readonly url: string;
  readonly gammaUrl: string;
  readonly coins: readonly string[];
  readonly timeframes: readonly Timeframe[];
  readonly sockets: readonly RecorderSocket[];
  /** Those that have not ended first, by their start; then those that ended, the latest first. */
  readonly windows: readonly RecordedWindow[];
  /** The gaps of the last 24 hours. */
  readonly gaps: readonly RecorderGap[];
  readonly missed: readonly MissedWindow[];
  /** Counts since the start. */
  readonly totals: {
    readonly frames: number;
    readonly events: number;
    /** Events that another socket had brought before. */
    readonly repeatedEvents: number;
    readonly hashesMatched: number;
    readonly hashesFailed: number;
    readonly windows: number;
    readonly windowsMissed: number;
    readonly gaps: number;
    readonly resubscriptions: number;
  };
  /** Time from a subscription to the first book, of the last 100 assets, in ms; null before the first one. */
  readonly firstBookDelayMs: { readonly median: number; readonly max: number } | null;
  readonly journal: {
    readonly file: string | null;
    /** Bytes of frames, before compression, that are not written yet. */
    readonly queuedBytes: number;
    /** Bytes written since the start, compressed. */
    readonly writtenBytes: number;
    /** The arrival of the last frame that is in the archive, and of the last one in the journal. */
    readonly storedMs: InstantMs | null;
    readonly writtenUntilMs: InstantMs | null;
  };
  /** Median of arrival minus the venue's time in the last minute, in ms; and the steps of the wall clock since the start. */
  readonly clock: { readonly offsetMs: number | null; readonly steps: number };
  /** Null if the disk's free space cannot be read. */
  readonly disk: { readonly freeBytes: number | null; readonly floorBytes: number };
  /** A problem that stops the recording, as a sentence; null without one. */
  readonly problem: string | null;
}

export const RECORDER_FILE = 'recorder.json';
export const LISTED_MAX = 200;
