import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { recorderText } from '../../src/cli/record-status.ts';
import { RecorderFile } from '../../src/store/recorder-file.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE } from '../support/executable.ts';

/**
 * `make record`: starts a venue of this machine that loses, delays and refuses now and then, and a recorder of it with a temporary data
 * directory; shows each second what the recorder does and what the venue has done to it, until Ctrl-C.
 */
const FAULTS_SHOWN = 5;
const HOME_AND_ERASE = '\u001b[H\u001b[J';
/** Without a terminal a state is written this often. */
const QUIET_MS = 5000;

const { stdout } = process;
const screen = {
  outIsTerminal: stdout.isTTY,
  outColumns: () => stdout.columns,
  outHasColour: stdout.isTTY && stdout.hasColors(),
};
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

using directory = temporaryDirectory();
await using venue = startChild([process.execPath, join(import.meta.dir, 'venue.ts'), '--frames', '20', '--faults']);
const [url = ''] = await venue.said(/^http:\S+$/m);
await using recorder = startChild([
  ...[EXECUTABLE, 'record', '--url', url, '--gamma-url', url, '--coin', 'btc,eth,sol', '--tf', '5m'],
  ...['--data', directory.path],
]);
const file = new RecorderFile(directory.path);
while (!stopping.signal.aborted && recorder.code === undefined) {
  const state = recorderText(screen, file.reading(Date.now()), Date.now());
  const faults = venue.stdout().trimEnd().split('\n').slice(2).slice(-FAULTS_SHOWN);
  const text = `${state}\nThe venue:\n${faults.map((fault) => `  ${fault}\n`).join('')}`;
  const rows = stdout.isTTY
    ? text
        .split('\n')
        .slice(0, stdout.rows - 1)
        .join('\n')
    : text;
  stdout.write(stdout.isTTY ? `${HOME_AND_ERASE}${rows}` : `${rows}\n`);
  await delay(stdout.isTTY ? 1000 : QUIET_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
}
recorder.kill('SIGINT');
await recorder.exited;
stdout.write(`\n${recorder.stderr()}`);
