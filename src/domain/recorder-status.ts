import { type Static, type TSchema, Type } from 'typebox';
import { INSTANT_MAX_MS, type InstantMs } from './instant.ts';
import { OutcomeName } from './outcome.ts';
import { TimeframeName } from './timeframe.ts';

export const RECORDER_FILE = 'recorder.json';
export const LISTED_MAX = 200;

const Instant = Type.Integer({ minimum: 0, maximum: INSTANT_MAX_MS });
const Count = Type.Integer({ minimum: 0 });
const InstantOrNull = orNull(Instant);
const OfOutcomes = Type.Unsafe<readonly [up: InstantMs | null, down: InstantMs | null]>(
  Type.Tuple([InstantOrNull, InstantOrNull]),
);

/** A connection to the venue's market channel. */
export const RecorderSocket = Type.Object({
  /** From 1; a connection that replaces another one has its number. */
  number: Count,
  state: Type.Union([Type.Literal('connecting'), Type.Literal('open'), Type.Literal('waiting')]),
  openedMs: InstantOrNull,
  /** The next attempt; null unless it is waiting. */
  retryMs: InstantOrNull,
  assets: Count,
  frames: Count,
  lastFrameMs: InstantOrNull,
  /** Connections that ended, or could not be opened; those that were replaced as planned do not count. */
  ends: Count,
  /** Why the last connection ended, as a sentence; null before the first end. */
  lastEnd: orNull(Type.String()),
});
export type RecorderSocket = Readonly<Static<typeof RecorderSocket>>;

/**
 * `wanted`: Gamma has not listed its market yet; `listed`: its assets are not subscribed yet; `subscribed`: waiting for the first books
 * or for the window's start; `recording`: in the window; `ended`: waiting for the winner and the prices; `resolved`: all is known;
 * `unresolved`: given up 30 minutes after the end; `missed`: its window began without a market.
 */
export const WindowState = Type.Union([
  Type.Literal('wanted'),
  Type.Literal('listed'),
  Type.Literal('subscribed'),
  Type.Literal('recording'),
  Type.Literal('ended'),
  Type.Literal('resolved'),
  Type.Literal('unresolved'),
  Type.Literal('missed'),
]);
export type WindowState = Static<typeof WindowState>;

/** A window that is recorded, or was recently. */
export const RecordedWindow = Type.Object({
  slug: Type.String(),
  symbol: Type.String(),
  timeframe: TimeframeName,
  startMs: Instant,
  endMs: Instant,
  conditionId: orNull(Type.String()),
  state: WindowState,
  /** Arrival of the first book and of the last message; null before it. */
  firstBookMs: OfOutcomes,
  lastEventMs: OfOutcomes,
  gaps: Count,
});
export type RecordedWindow = Readonly<Static<typeof RecordedWindow>>;

export const RecorderGap = Type.Object({
  slug: Type.String(),
  /** Null for both outcomes. */
  outcome: orNull(OutcomeName),
  fromMs: Instant,
  /** Null while the gap is open. */
  toMs: InstantOrNull,
  reason: Type.String(),
});
export type RecorderGap = Readonly<Static<typeof RecorderGap>>;

export const MissedWindow = Type.Object({ slug: Type.String(), startMs: Instant, reason: Type.String() });
export type MissedWindow = Readonly<Static<typeof MissedWindow>>;

/**
 * The state of `bookreel record`, which it writes to the data directory every second as `recorder.json`. Lists have at most
 * LISTED_MAX entries, the latest first.
 */
export const RecorderStatus = Type.Object({
  version: Type.Literal(1),
  processId: Type.Integer({ minimum: 1 }),
  startedMs: Instant,
  /** When this was written: a recorder that still runs wrote it in the last seconds. */
  writtenMs: Instant,
  /** The addresses that it records from. */
  url: Type.String(),
  gammaUrl: Type.String(),
  coins: list(Type.String()),
  timeframes: list(TimeframeName),
  sockets: list(RecorderSocket),
  /** Those that have not ended first, by their start; then those that ended, the latest first. */
  windows: list(RecordedWindow),
  /** The gaps of the last 24 hours. */
  gaps: list(RecorderGap),
  missed: list(MissedWindow),
  /** Counts since the start. */
  totals: Type.Object({
    frames: Count,
    events: Count,
    /** Events that another socket had brought before. */
    repeatedEvents: Count,
    hashesMatched: Count,
    hashesFailed: Count,
    windows: Count,
    windowsMissed: Count,
    gaps: Count,
    resubscriptions: Count,
  }),
  /** Time from a subscription to the first book, of the last 100 assets, in ms; null before the first one. */
  firstBookDelayMs: orNull(Type.Object({ median: Type.Number(), max: Type.Number() })),
  journal: Type.Object({
    file: orNull(Type.String()),
    /** Bytes of frames, before compression, that are not written yet. */
    queuedBytes: Count,
    /** Bytes written since the start, compressed. */
    writtenBytes: Count,
    /** The arrival of the last frame that is in the archive, and of the last one in the journal. */
    storedMs: InstantOrNull,
    writtenUntilMs: InstantOrNull,
  }),
  /** Median of arrival minus the venue's time of the last 1000 messages about books, in ms; and the steps of the wall clock since the start. */
  clock: Type.Object({ offsetMs: orNull(Type.Number()), steps: Count }),
  /** Older markets are deleted; null: none are. */
  keepMs: orNull(Count),
  /** Null if the disk's free space cannot be read. */
  disk: Type.Object({ freeBytes: orNull(Count), floorBytes: Count }),
  /** A problem that stops the recording, as a sentence; null without one. */
  problem: orNull(Type.String()),
});
export type RecorderStatus = Readonly<Static<typeof RecorderStatus>>;

/**
 * The recorder of a data directory, as its file shows it. `never`: there is no file; `unreadable`: it is damaged, or of another version;
 * `stopped`: the process is gone, or has written nothing for RECORDER_SILENCE_MS_MAX.
 */
export type RecorderReading =
  | { readonly state: 'never' | 'unreadable'; readonly status?: undefined }
  | { readonly state: 'stopped' | 'running'; readonly status: RecorderStatus };

export const RECORDER_SILENCE_MS_MAX = 10_000;

function orNull<Value extends TSchema>(value: Value) {
  return Type.Union([value, Type.Null()]);
}

function list<Item extends TSchema>(item: Item) {
  return Type.Unsafe<readonly Readonly<Static<Item>>[]>(Type.Array(item, { maxItems: LISTED_MAX }));
}
