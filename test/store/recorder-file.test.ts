import { expect, test } from 'bun:test';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RECORDER_FILE } from '../../src/domain/recorder-status.ts';
import { RecorderFile, writeRecorderStatus } from '../../src/store/recorder-file.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { recorderStatus, troubledStatus } from '../support/recorder-status.ts';

const NOW = Date.UTC(2026, 10, 26, 4, 2, 30);

test('The state of a recorder is read as it was written, and nothing else is left in the directory.', () => {
  using directory = temporaryDirectory();
  const file = new RecorderFile(directory.path);
  expect(file.reading(NOW)).toEqual({ state: 'never' });
  for (const status of [recorderStatus(NOW), troubledStatus(NOW)]) {
    writeRecorderStatus(directory.path, status);
    expect(file.reading(NOW)).toEqual({ state: 'running', status });
    expect(new RecorderFile(directory.path).reading(NOW)).toEqual({ state: 'running', status });
  }
  expect(readdirSync(directory.path)).toEqual([RECORDER_FILE]);
  expect(statSync(join(directory.path, RECORDER_FILE)).mode & 0o777).toBe(0o600);
});

test('A recorder is stopped when it has written nothing for 10 seconds, or its process is gone.', async () => {
  using directory = temporaryDirectory();
  const file = new RecorderFile(directory.path);
  writeRecorderStatus(directory.path, recorderStatus(NOW));
  expect([NOW, NOW + 10_000, NOW + 10_001].map((nowMs) => file.reading(nowMs).state)).toEqual([
    'running',
    'running',
    'stopped',
  ]);
  const gone = Bun.spawn(['true']);
  await gone.exited;
  writeRecorderStatus(directory.path, recorderStatus(NOW, { processId: gone.pid }));
  expect(file.reading(NOW).state).toBe('stopped');
});

test('A recorder of another user is running.', () => {
  using directory = temporaryDirectory();
  writeRecorderStatus(directory.path, recorderStatus(NOW, { processId: 1 }));
  expect(new RecorderFile(directory.path).reading(NOW).state).toBe('running');
});

test.each([
  ['nothing', ''],
  ['half of it', '{"version":1,"proc'],
  ['another version', JSON.stringify({ ...recorderStatus(NOW), version: 2 })],
  ['a socket without its state', JSON.stringify({ ...recorderStatus(NOW), sockets: [{ number: 1 }] })],
  ['a time that is none', JSON.stringify({ ...recorderStatus(NOW), writtenMs: -1 })],
  ['a process group', JSON.stringify({ ...recorderStatus(NOW), processId: 0 })],
  ['more than it may list', JSON.stringify({ ...recorderStatus(NOW), coins: Array(201).fill('btc') })],
])('A file with %s is unreadable, until the recorder replaces it.', (_, text) => {
  using directory = temporaryDirectory();
  const file = new RecorderFile(directory.path);
  const path = join(directory.path, RECORDER_FILE);
  writeFileSync(path, text);
  expect(file.reading(NOW)).toEqual({ state: 'unreadable' });
  writeRecorderStatus(directory.path, recorderStatus(NOW));
  expect(file.reading(NOW).state).toBe('running');
});
