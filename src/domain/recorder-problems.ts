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

/** Sentences about what keeps a recorder from recording everything; each says what to do. None if no recorder ever ran. */
export function recorderProblems({ state, status }: RecorderReading, nowMs: InstantMs): readonly string[] {
  if (state === 'never') return [];
  if (status === undefined) {
    return [
      "recorder.json is damaged, or of another version: run 'systemctl restart bookreel-recorder', or 'bookreel record'",
    ];
  }
  const reason = status.problem === null ? [] : [status.problem];
  if (state === 'running') return [...reason, ...runningProblems(status, nowMs)];
  const since = formatInstant(status.writtenMs);
  return [
    `the recorder is not running since ${since}: run 'systemctl start bookreel-recorder', or delete recorder.json if nothing is to be recorded`,
    ...reason,
  ];
}

function runningProblems(status: RecorderStatus, nowMs: InstantMs): string[] {
  const { sockets, missed, gaps, clock, disk, problem } = status;
  const found: string[] = [];
  // Before the first window no socket is needed.
  if (sockets.length > 0 && sockets.every(({ state }) => state !== 'open')) {
    const [why] = sockets.flatMap(({ lastEnd }) => lastEnd ?? []);
    found.push(
      `no socket to the venue is open${why === undefined ? '' : ` (${why})`}: check the network of this machine`,
    );
  }
  const recent = missed.filter(({ startMs }) => nowMs - startMs <= MISSED_MS);
  if (recent[0] !== undefined) {
    const { slug, reason } = recent[0];
    found.push(
      `${countText(recent.length, 'window')} of the last hour began without a market, the last one ${slug} (${reason}): check whether the venue still lists such markets`,
    );
  }
  const open = gaps.filter(({ fromMs, toMs }) => toMs === null && nowMs - fromMs > OPEN_GAP_MS_MAX);
  if (open[0] !== undefined) {
    const { slug, fromMs, reason } = open[0];
    found.push(
      `${countText(open.length, 'gap')} of more than a minute: the last one of ${slug} since ${formatInstant(fromMs)} (${reason}); the log says what was tried`,
    );
  }
  const lagMs = storingLagMs(status);
  if (lagMs > LAG_MS_MAX) {
    found.push(
      `the archive is ${Math.round(lagMs / 1000)} s behind the journal: look for an import or a deletion that takes long, and for a busy disk`,
    );
  }
  const offsetMs = Math.round(clock.offsetMs ?? 0);
  if (offsetMs < OFFSET_MS_MIN || offsetMs > OFFSET_MS_MAX) {
    const side = offsetMs < 0 ? 'before' : 'after';
    found.push(
      `messages arrive ${Math.abs(offsetMs)} ms ${side} their time at the venue: set the clock, for example with 'timedatectl set-ntp true'`,
    );
  }
  const { freeBytes, floorBytes } = disk;
  if (problem === null && freeBytes !== null && freeBytes < floorBytes) {
    const [left, floor] = [freeBytes, floorBytes].map((bytes) => (bytes / 1e6).toFixed(1));
    found.push(`the disk has ${left} MB left, less than the ${floor} MB of --disk-floor: free some space`);
  }
  return found;
}
