import { expect, test } from 'bun:test';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVER_FILE, type ServerProcess } from '../../src/domain/server-status.ts';
import { deleteServerStatus, serverStatus, writeServerStatus } from '../../src/store/server-file.ts';
import { temporaryDirectory } from '../support/archive.ts';

const PROCESS: ServerProcess = {
  ...{ number: 1, processId: 7, state: 'running', sinceMs: 1_700_000_000_000 },
  ...{ restarts: 0, connections: 2, requests: 3 },
};
const STATUS = { version: 1, port: 8000, processes: [PROCESS] } as const;

test('The state of a server is read as it was written, and nothing else is left in the directory.', () => {
  using directory = temporaryDirectory();
  expect(serverStatus(directory.path)).toBeUndefined();
  writeServerStatus(directory.path, STATUS);
  expect(serverStatus(directory.path)).toEqual(STATUS);
  expect(readdirSync(directory.path)).toEqual([SERVER_FILE]);
  expect(statSync(join(directory.path, SERVER_FILE)).mode & 0o777).toBe(0o600);
  for (let times = 0; times < 2; times += 1) deleteServerStatus(directory.path);
  expect(readdirSync(directory.path)).toEqual([]);
});

test.each([
  '',
  '{"version":1,"por',
  JSON.stringify({ ...STATUS, version: 2 }),
  JSON.stringify({ ...STATUS, port: -1 }),
])('A damaged state, or one of another version, is as if there were none: %s', (text) => {
  using directory = temporaryDirectory();
  writeFileSync(join(directory.path, SERVER_FILE), text);
  expect(serverStatus(directory.path)).toBeUndefined();
});
