import { expect, test } from 'bun:test';
import { recorderMetrics } from '../../src/cli/recorder-metrics.ts';
import type { RecorderReading, RecorderStatus } from '../../src/domain/recorder-status.ts';
import { Metrics } from '../../src/http/metrics/metrics.ts';
import { finished } from '../support/executable.ts';
import { recorderStatus, troubledStatus } from '../support/recorder-status.ts';
import { scrapedFrom } from '../support/scraped.ts';

const NOW = Date.UTC(2026, 10, 26, 4, 2, 30);

function scraped(reading: RecorderReading) {
  const metrics = new Metrics((_, error) => {
    throw error;
  });
  metrics.add(...recorderMetrics(() => reading));
  return scrapedFrom(metrics.text());
}
const running = (status: RecorderStatus) => scraped({ state: 'running', status });

test('The metrics of a recorder are the figures of its file, in seconds and bytes.', () => {
  const status = troubledStatus(NOW);
  const { sum } = running(status);
  const of = (name: string, labels?: Record<string, string>) => sum(`bookreel_recorder_${name}`, labels);
  expect({
    up: of('up'),
    frames: of('frames_total'),
    events: of('events_total'),
    repeated: of('repeated_events_total'),
    hashes: [of('hashes_total', { result: 'matched' }), of('hashes_total', { result: 'failed' })],
    windows: [of('windows_total'), of('windows_missed_total')],
    gaps: [of('gaps_total'), of('gaps_open')],
    resubscriptions: of('resubscriptions_total'),
    open: [of('socket_open', { socket: '1' }), of('socket_open', { socket: '2' })],
    assets: [of('socket_assets', { socket: '1' }), of('socket_assets', { socket: '2' })],
    socketFrames: of('socket_frames_total'),
    ends: of('socket_ends_total', { socket: '1' }),
    firstBook: [of('first_book_seconds', { share: '0.5' }), of('first_book_seconds', { share: '1' })],
    lag: of('lag_seconds'),
    clock: [of('clock_offset_seconds'), of('clock_steps_total')],
    bytes: [of('written_bytes_total'), of('queued_bytes')],
    disk: [of('disk_free_bytes'), of('disk_floor_bytes')],
  }).toEqual({
    up: 1,
    frames: 2_000_000,
    events: 1_990_000,
    repeated: 995_000,
    hashes: [400_000, 3],
    windows: [72, 1],
    gaps: [3, 1],
    resubscriptions: 9,
    open: [0, 1],
    assets: [0, 8],
    socketFrames: 2_000_000,
    ends: 7,
    firstBook: [0.12, 0.9],
    lag: 94.5,
    clock: [-0.031, 2],
    bytes: [150_000_000, 1_200_000],
    disk: [400e6, 500e6],
  });
});

test('The longest silence of the windows of a coin and a timeframe is a metric, and that of no window.', () => {
  const status = recorderStatus(NOW);
  const [btc, eth, ...others] = status.windows;
  const windows = [
    { ...btc!, lastEventMs: [NOW - 9000, NOW - 300] as const },
    { ...btc!, slug: 'another', lastEventMs: [NOW - 2000, NOW - 700] as const },
    { ...eth!, lastEventMs: [null, NOW + 50] as const },
    ...others,
  ];
  const { sum, text } = running({ ...status, windows });
  const of = (coin: string, outcome: string) =>
    sum('bookreel_recorder_silence_seconds', { coin, timeframe: '5m', outcome });
  expect([of('btc', 'up'), of('btc', 'down')]).toEqual([9, 0.7]);
  // Nothing since the start of the window; and a message after the file was begun.
  expect([of('eth', 'up'), of('eth', 'down')]).toEqual([150, 0]);
  expect(text.match(/^bookreel_recorder_silence_seconds/gm)).toHaveLength(4);
});

test('A recorder that does not run is down and has no other metrics; one that never ran has none.', () => {
  const status = recorderStatus(NOW);
  for (const reading of [{ state: 'stopped', status }, { state: 'unreadable' }] as const) {
    const { names, sum } = scraped(reading);
    expect([...names]).toEqual(['bookreel_recorder_up']);
    expect(sum('bookreel_recorder_up')).toBe(0);
  }
  expect(scraped({ state: 'never' }).text).toBe('');
});

test('What the recorder does not know has no metric.', () => {
  const { names } = running(
    recorderStatus(NOW, {
      ...{ sockets: [], windows: [], firstBookDelayMs: null, clock: { offsetMs: null, steps: 0 } },
      disk: { freeBytes: null, floorBytes: 1 },
    }),
  );
  for (const name of [
    'socket_open',
    'silence_seconds',
    'first_book_seconds',
    'clock_offset_seconds',
    'disk_free_bytes',
  ]) {
    expect(names).not.toContain(`bookreel_recorder_${name}`);
  }
});

test.skipIf(Bun.which('promtool') === null)('Its metrics pass the linter of Prometheus. (needs promtool)', async () => {
  const { code, stdout, stderr } = await finished(['promtool', 'check', 'metrics'], {
    env: { PATH: process.env.PATH ?? '' },
    stdin: running(troubledStatus(NOW)).text,
  });
  expect({ code, said: stdout + stderr }).toEqual({ code: 0, said: '' });
});
