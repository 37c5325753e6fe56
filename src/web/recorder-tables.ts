import { countText } from '../domain/count-text.ts';
import { lengthText } from '../domain/duration.ts';
import { formatInstant, type InstantMs, timeText } from '../domain/instant.ts';
import { OUTCOMES } from '../domain/outcome.ts';
import { LAG_MS_MAX, storingLagMs } from '../domain/recorder-problems.ts';
import type {
  MissedWindow,
  RecordedWindow,
  RecorderGap,
  RecorderReading,
  RecorderSocket,
  RecorderStatus,
} from '../domain/recorder-status.ts';
import type { ArchiveSizes } from '../store/archive-sizes.ts';
import { bytesText, numberText } from './texts.ts';

/** A column of texts, for pages and for commands. */
export interface TextColumn<Row> {
  readonly heading: string;
  readonly cell: (row: Row) => string | number;
  readonly class?: string;
  readonly cut?: 'end';
  readonly isPlain?: true;
}

type Columns<Row> = (nowMs: InstantMs) => readonly TextColumn<Row>[];

export const SOCKET_COLUMNS: Columns<RecorderSocket> = (nowMs) => [
  { heading: 'Socket', cell: ({ number }) => number },
  {
    heading: 'State',
    class: 'nowrap',
    isPlain: true,
    cell: ({ state, openedMs, retryMs }) => {
      if (retryMs !== null) return `${state}, next try in ${ageText(retryMs, nowMs)}`;
      return openedMs === null ? state : `${state} for ${ageText(nowMs, openedMs)}`;
    },
  },
  { heading: 'Assets', class: 'number', cell: ({ assets }) => assets },
  { heading: 'Frames', class: 'number', cell: ({ frames }) => numberText(frames) },
  { heading: 'Last frame', class: 'nowrap', cell: ({ lastFrameMs }) => agoText(nowMs, lastFrameMs) },
  { heading: 'Ends', class: 'number', cell: ({ ends }) => ends },
  { heading: 'Last end', class: 'long', cut: 'end', cell: ({ lastEnd }) => lastEnd ?? '' },
];

export const WINDOW_COLUMNS: Columns<RecordedWindow> = (nowMs) => [
  { heading: 'Window', cell: ({ slug }) => slug, class: 'nowrap' },
  { heading: 'State', class: 'main', isPlain: true, cell: ({ state }) => state },
  { heading: 'Start', class: 'nowrap', isPlain: true, cell: ({ startMs }) => timeText(startMs) },
  { heading: 'First books', class: 'nowrap', cell: ({ startMs, firstBookMs }) => firstBooksText(startMs, firstBookMs) },
  {
    heading: 'Last message',
    class: 'nowrap',
    cell: ({ lastEventMs: [up, down] }) =>
      up === null || down === null ? agoText(nowMs, up ?? down) : agoText(nowMs, Math.min(up, down)),
  },
  { heading: 'Gaps', class: 'number', cell: ({ gaps }) => gaps },
];

export const GAP_COLUMNS: Columns<RecorderGap> = (nowMs) => [
  { heading: 'Window', cell: ({ slug }) => slug, class: 'nowrap' },
  { heading: 'Outcome', cell: ({ outcome }) => outcome ?? 'both' },
  { heading: 'From (UTC)', class: 'nowrap', cell: ({ fromMs }) => exactText(fromMs) },
  {
    heading: 'Length',
    class: 'nowrap',
    cell: ({ fromMs, toMs }) => (toMs === null ? `open for ${ageText(nowMs, fromMs)}` : ageText(toMs, fromMs)),
  },
  { heading: 'Reason', class: 'long', cut: 'end', cell: ({ reason }) => reason },
];

export const MISSED_COLUMNS: readonly TextColumn<MissedWindow>[] = [
  { heading: 'Window', cell: ({ slug }) => slug, class: 'nowrap' },
  { heading: 'Start', class: 'nowrap', isPlain: true, cell: ({ startMs }) => timeText(startMs) },
  { heading: 'Reason', class: 'long', cut: 'end', cell: ({ reason }) => reason },
];

/** A sentence about the recorder itself. */
export function recorderSentence({ state, status }: RecorderReading): string {
  if (state === 'never') return "no recorder ever ran here: 'bookreel record' starts one";
  if (status === undefined) return 'the state of the recorder cannot be read';
  const what = `${status.coins.join(', ')} of ${status.timeframes.join(', ')} from ${status.url}`;
  if (state === 'stopped')
    return `the recorder is not running since ${timeText(status.writtenMs)}; it recorded ${what}`;
  return `started ${timeText(status.startedMs)}: ${what}`;
}

/** `open` and `sealed` as in store/archive-sizes.ts. */
export function archiveFacts({ open, sealed }: ArchiveSizes): Readonly<Record<string, string>> {
  return {
    'Open markets': `${numberText(open.markets)} in bookreel.db, which has ${bytesText(open.bytes)}`,
    'Sealed markets': `${numberText(sealed.markets)} in files of their own, ${bytesText(sealed.bytes)} together`,
  };
}

/** A figure, and what it means, which may be empty. */
type FigureTexts = readonly [value: string, note: string];

/** Figures since the recorder's start, by their names. */
export function recorderFacts(status: RecorderStatus): Readonly<Record<string, FigureTexts>> {
  const { totals, gaps, firstBookDelayMs: delay, journal, clock, disk } = status;
  const { frames, events, repeatedEvents, hashesMatched, hashesFailed } = totals;
  const share = events === 0 ? 0 : (100 * repeatedEvents) / events;
  const open = gaps.filter(({ toMs }) => toMs === null).length;
  const offsetMs = clock.offsetMs === null ? undefined : Math.round(clock.offsetMs);
  const steps = countText(clock.steps, 'step');
  const target = journal.file === null ? [] : [`now to ${journal.file}`];
  const waiting = journal.queuedBytes === 0 ? [] : [`${bytesText(journal.queuedBytes)} of frames wait`];
  const again = `${numberText(totals.resubscriptions)} subscribed again`;
  return {
    Frames: [
      numberText(frames),
      `with ${numberText(events)} events, ${share.toFixed(1)} % of them repeated by another socket`,
    ],
    Hashes: [`${numberText(hashesMatched)} matched`, `${numberText(hashesFailed)} failed`],
    Windows: [numberText(totals.windows), `${numberText(totals.windowsMissed)} missed`],
    Gaps: [numberText(totals.gaps), `${numberText(open)} open`],
    'First book': [
      delay === null ? 'none yet' : `${lengthText(delay.median)} (median)`,
      delay === null ? again : `${lengthText(delay.max)} at most; ${again}`,
    ],
    Journal: [`${bytesText(journal.writtenBytes)} written`, [...target, ...waiting].join(', ')],
    Lag: [lengthText(storingLagMs(status)), 'from the journal to the archive'],
    Clock:
      offsetMs === undefined
        ? ['not compared yet', steps]
        : [`${numberText(Math.abs(offsetMs))} ms`, `messages come ${offsetMs < 0 ? 'early' : 'late'}; ${steps}`],
    Kept: [status.keepMs === null ? 'everything' : `the last ${lengthText(status.keepMs)}`, ''],
    Disk: [
      `${disk.freeBytes === null ? 'unknown' : bytesText(disk.freeBytes)} free`,
      `recording stops below ${bytesText(disk.floorBytes)}`,
    ],
  };
}

/** The names of `recorderFacts` that say something bad, each with its look. */
export function recorderLooks(status: RecorderStatus): Readonly<Record<string, 'bad' | 'warn' | false>> {
  const { totals, gaps, clock, disk } = status;
  return {
    Hashes: totals.hashesFailed > 0 && 'warn',
    Windows: totals.windowsMissed > 0 && 'bad',
    Gaps: gaps.some(({ toMs }) => toMs === null) && 'bad',
    Lag: storingLagMs(status) > LAG_MS_MAX && 'warn',
    Clock: (clock.offsetMs ?? 0) < 0 && 'warn',
    Disk: disk.freeBytes !== null && disk.freeBytes < disk.floorBytes && 'bad',
  };
}

/** `2026-11-22 18:40:10.324`, in UTC. */
function exactText(atMs: InstantMs): string {
  return formatInstant(atMs).replace('T', ' ').replace('Z', '');
}

function ageText(nowMs: InstantMs, fromMs: InstantMs): string {
  return lengthText(Math.max(0, nowMs - fromMs));
}

function agoText(nowMs: InstantMs, atMs: InstantMs | null): string {
  return atMs === null ? '' : `${ageText(nowMs, atMs)} ago`;
}

/** Says by how much the later of the first books came before the start of the window. */
function firstBooksText(startMs: InstantMs, [up, down]: RecordedWindow['firstBookMs']): string {
  if (up === null && down === null) return '';
  if (up === null || down === null) return `only of ${OUTCOMES[up === null ? 1 : 0]}`;
  const lastMs = Math.max(up, down);
  return lastMs <= startMs ? `${ageText(startMs, lastMs)} before` : `${ageText(lastMs, startMs)} after`;
}
