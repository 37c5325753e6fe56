import { OUTCOMES } from '../domain/outcome.ts';
import { storingLagMs } from '../domain/recorder-problems.ts';
import type { RecorderReading, RecorderSocket, RecorderStatus } from '../domain/recorder-status.ts';
import { type Labels, type Metric, metric, type Sample } from '../http/metrics/metrics.ts';

type Read = (status: RecorderStatus) => number | null | undefined | readonly Sample[];

/**
 * The metrics of the recorder of this data directory. None if no recorder ever ran; only `bookreel_recorder_up` while it does not run: its
 * last figures would look like those of one that records.
 */
export function recorderMetrics(reading: () => RecorderReading): Metric[] {
  const running = (type: Metric['type'], name: string, help: string, read: Read): Metric =>
    metric(type, `bookreel_recorder_${name}`, help, () => {
      const { state, status } = reading();
      const found = state === 'running' ? read(status) : undefined;
      return found === undefined || found === null ? [] : typeof found === 'number' ? [{ value: found }] : found;
    });
  const counter = (name: string, help: string, read: Read) => running('counter', name, help, read);
  const gauge = (name: string, help: string, read: Read) => running('gauge', name, help, read);
  return [
    metric('gauge', 'bookreel_recorder_up', '1 while the recorder runs, else 0; counts begin with its start.', () => {
      const { state } = reading();
      return state === 'never' ? [] : [{ value: state === 'running' ? 1 : 0 }];
    }),
    counter('frames_total', 'Frames from all sockets.', ({ totals }) => totals.frames),
    counter('events_total', 'Events in the frames, repeated ones too.', ({ totals }) => totals.events),
    counter('repeated_events_total', 'Events that another socket had brought before.', ({ totals }) => {
      return totals.repeatedEvents;
    }),
    counter('hashes_total', 'Books that were compared with their hashes.', ({ totals }) => [
      { labels: { result: 'matched' }, value: totals.hashesMatched },
      { labels: { result: 'failed' }, value: totals.hashesFailed },
    ]),
    counter('windows_total', 'Windows of which a book was recorded.', ({ totals }) => totals.windows),
    counter('windows_missed_total', 'Windows that began without a market.', ({ totals }) => totals.windowsMissed),
    counter('gaps_total', 'Gaps that the recorder or hashes found.', ({ totals }) => totals.gaps),
    gauge('gaps_open', 'Gaps that have not ended.', ({ gaps }) => gaps.filter(({ toMs }) => toMs === null).length),
    counter('resubscriptions_total', 'Assets that were subscribed again.', ({ totals }) => totals.resubscriptions),
    gauge(
      'socket_open',
      '1 for a socket that is open.',
      bySocket(({ state }) => (state === 'open' ? 1 : 0)),
    ),
    gauge(
      'socket_assets',
      'Assets that a socket is subscribed to.',
      bySocket(({ assets }) => assets),
    ),
    counter(
      'socket_frames_total',
      'Frames by socket.',
      bySocket(({ frames }) => frames),
    ),
    counter(
      'socket_ends_total',
      'Connections that ended or could not be opened, without those that were replaced as planned.',
      bySocket(({ ends }) => ends),
    ),
    gauge('silence_seconds', 'Time since the last message about a window that is recorded.', silences),
    gauge(
      'first_book_seconds',
      'Time to the first book for this share of the assets.',
      ({ firstBookDelayMs: delay }) =>
        delay === null
          ? []
          : [
              { labels: { share: '0.5' }, value: delay.median / 1000 },
              { labels: { share: '1' }, value: delay.max / 1000 },
            ],
    ),
    gauge('lag_seconds', 'How far the archive is behind the journal.', (status) => storingLagMs(status) / 1000),
    gauge('clock_offset_seconds', "Median of arrival minus the venue's time, of 1000 messages.", ({ clock }) => {
      return clock.offsetMs === null ? null : clock.offsetMs / 1000;
    }),
    counter('clock_steps_total', 'Steps of the wall clock.', ({ clock }) => clock.steps),
    counter('written_bytes_total', 'Bytes written to the journal.', ({ journal }) => journal.writtenBytes),
    gauge('queued_bytes', 'Bytes of frames that are not in the journal yet.', ({ journal }) => journal.queuedBytes),
    gauge('disk_free_bytes', 'Free space as the recorder sees it.', ({ disk }) => disk.freeBytes),
    gauge('disk_floor_bytes', 'Free space at which the recorder stops.', ({ disk }) => disk.floorBytes),
  ];
}

function bySocket(value: (socket: RecorderSocket) => number): Read {
  return ({ sockets }) =>
    sockets.map((socket) => ({ labels: { socket: String(socket.number) }, value: value(socket) }));
}

/** By coin and timeframe, which stay the same, unlike windows and assets. Of several windows the longest silence counts. */
function silences({ windows, writtenMs }: RecorderStatus): Sample[] {
  const longest = new Map<string, { readonly labels: Labels; readonly value: number }>();
  for (const { state, symbol: coin, timeframe, startMs, lastEventMs } of windows) {
    if (state !== 'recording') continue;
    for (const [index, outcome] of OUTCOMES.entries()) {
      const value = Math.max(0, writtenMs - (lastEventMs[index] ?? startMs)) / 1000;
      const name = `${coin} ${timeframe} ${outcome}`;
      if (value >= (longest.get(name)?.value ?? 0)) longest.set(name, { labels: { coin, timeframe, outcome }, value });
    }
  }
  return [...longest.values()];
}
