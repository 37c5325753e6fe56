import { countText } from './count-text.ts';
import { formatInstant, type InstantMs } from './instant.ts';
import type { RecorderReading, RecorderStatus } from './recorder-status.ts';

/** An archive that is further behind the journal is a problem. */
export const LAG_MS_MAX = 60_000;
const OPEN_GAP_MS_MAX = 60_000;
/** Missed windows are a problem for this long. */
const MISSED_MS = 3_600_000;
/** In ms, of a clock that is right: recordings show −12 in the median at the least. The alert rules have the same bounds. */
const OFFSET_MS_MIN = -20;
const OFFSET_MS_MAX = 2000;

/** How far the archive is behind the journal, in ms; 0 before the first frame. */
export function storingLagMs({ journal: { storedMs, writtenUntilMs }, startedMs }: RecorderStatus): number {
  return writtenUntilMs === null ? 0 : Math.max(0, writtenUntilMs - (storedMs ?? startedMs));
}

/** A reason why a recorder does not record everything. */
export interface RecorderProblem {
  readonly problem: string;
  /** What to do; undefined: the problem says it. */
  readonly advice?: string;
  /** Data is lost while it lasts. */
  readonly losesData: boolean;
}

/** A problem as a line. */
export function problemLine({ problem, advice }: RecorderProblem): string {
  return advice === undefined ? problem : `${problem}: ${advice}`;
}

/** The problems of a recorder, those that lose data first. None if no recorder ever ran. */
export function recorderProblems({ state, status }: RecorderReading, nowMs: InstantMs): readonly RecorderProblem[] {
  if (state === 'never') return [];
  if (status === undefined) {
    const problem = 'recorder.json is damaged, or of another version';
    return [{ problem, advice: "run 'systemctl restart bookreel-recorder', or 'bookreel record'", losesData: true }];
  }
  const reason = status.problem === null ? [] : [{ problem: status.problem, losesData: true }];
  if (state === 'running') return [...reason, ...runningProblems(status, nowMs)];
  const since = formatInstant(status.writtenMs);
  const advice = "run 'systemctl start bookreel-recorder', or delete recorder.json if nothing is to be recorded";
  return [{ problem: `the recorder is not running since ${since}`, advice, losesData: true }, ...reason];
}

function runningProblems(status: RecorderStatus, nowMs: InstantMs): RecorderProblem[] {
  const { sockets, missed, gaps, clock, disk, problem } = status;
  const found: RecorderProblem[] = [];
  const add = (text: string, advice: string, losesData = true) => found.push({ problem: text, advice, losesData });
  // Before the first window no socket is needed.
  if (sockets.length > 0 && sockets.every(({ state }) => state !== 'open')) {
    const [why] = sockets.flatMap(({ lastEnd }) => lastEnd ?? []);
    add(`no socket to the venue is open${why === undefined ? '' : ` (${why})`}`, 'check the network of this machine');
  }
  const { freeBytes, floorBytes } = disk;
  if (problem === null && freeBytes !== null && freeBytes < floorBytes) {
    const [left, floor] = [freeBytes, floorBytes].map((bytes) => (bytes / 1e6).toFixed(1));
    add(`the disk has ${left} MB left, less than the ${floor} MB of --disk-floor`, 'free some space');
  }
  const open = gaps.filter(({ fromMs, toMs }) => toMs === null && nowMs - fromMs > OPEN_GAP_MS_MAX);
  if (open[0] !== undefined) {
    const { slug, fromMs, reason } = open[0];
    add(
      `${countText(open.length, 'gap')} of more than a minute, the last one of ${slug} since ${formatInstant(fromMs)} (${reason})`,
      'see what the log says was tried',
    );
  }
  const recent = missed.filter(({ startMs }) => nowMs - startMs <= MISSED_MS);
  if (recent[0] !== undefined) {
    const { slug, reason } = recent[0];
    add(
      `${countText(recent.length, 'window')} of the last hour began without a market, the last one ${slug} (${reason})`,
      'check whether the venue still lists such markets',
    );
  }
  const lagMs = storingLagMs(status);
  if (lagMs > LAG_MS_MAX) {
    add(
      `the archive is ${Math.round(lagMs / 1000)} s behind the journal`,
      'look for an import or a deletion that takes long, and for a busy disk',
      false,
    );
  }
  const offsetMs = Math.round(clock.offsetMs ?? 0);
  if (offsetMs < OFFSET_MS_MIN || offsetMs > OFFSET_MS_MAX) {
    const side = offsetMs < 0 ? 'before' : 'after';
    add(
      `messages arrive ${Math.abs(offsetMs)} ms ${side} their time at the venue`,
      "set the clock, for example with 'timedatectl set-ntp true'",
      false,
    );
  }
  return found;
}
