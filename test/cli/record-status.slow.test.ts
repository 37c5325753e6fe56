import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import { problemLine, recorderProblems } from '../../src/domain/recorder-problems.ts';
import { RECORDER_FILE, type RecorderStatus } from '../../src/domain/recorder-status.ts';
import { writeRecorderStatus } from '../../src/store/recorder-file.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { recorderStatus, troubledStatus } from '../support/recorder-status.ts';

const NOW = Date.UTC(2026, 10, 26, 4, 2, 30);

/** A data directory, and commands on it some time after NOW. */
function place(status?: RecorderStatus) {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  mkdirSync(data, { mode: 0o700 });
  if (status !== undefined) writeRecorderStatus(data, status);
  const command = async (words: string, laterMs = 0) => {
    const terminal = captured(() => NOW + laterMs);
    const code = await run([...words.split(' '), '--data', data], terminal);
    expect(terminal.stderr()).toBe('');
    return { code, stdout: terminal.stdout() };
  };
  return { data, command, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

/** The cells of a table by the headings, which are two spaces apart at least. */
function rowsUnder(text: string, heading: string): Record<string, string>[] {
  const [head, ...lines] = text.slice(text.search(new RegExp(`^${heading}`, 'm'))).split('\n');
  const starts = [...head!.matchAll(/\S+(?: \S+)*/g)].map(({ index, 0: name }) => ({ index, name }));
  return lines
    .slice(0, lines.indexOf(''))
    .map((line) =>
      Object.fromEntries(starts.map(({ index, name }, at) => [name, line.slice(index, starts[at + 1]?.index).trim()])),
    );
}

describe('record status', () => {
  test('says so where no recorder ever ran, and that is no problem', async () => {
    using held = place();
    expect(await held.command('record status')).toEqual({
      code: 0,
      stdout: "no recorder ever ran here: 'bookreel record' starts one\n",
    });
    expect(JSON.parse((await held.command('record status --json')).stdout)).toEqual({
      state: 'never',
      problems: [],
      recorder: null,
    });
  });

  test('shows sockets, windows and figures of a recorder that runs', async () => {
    using held = place(recorderStatus(NOW));
    const { code, stdout } = await held.command('record status');
    expect(code).toBe(0);
    expect(stdout).toStartWith('started 2026-11-26 01:02 UTC: btc, eth of 5m from https://');
    expect(rowsUnder(stdout, 'SOCKET')[0]).toEqual({
      SOCKET: '1',
      STATE: 'open for 20 min',
      ASSETS: '8',
      FRAMES: '1,000,000',
      'LAST FRAME': '0.2 s ago',
      ENDS: '4',
      'LAST END': 'it was replaced after 45 minutes',
    });
    const windows = rowsUnder(stdout, 'WINDOW');
    // Resolved windows are left out.
    expect(windows.map(({ STATE }) => STATE)).toEqual([
      'recording',
      'recording',
      'subscribed',
      'listed',
      'wanted',
      'ended',
    ]);
    expect(windows[0]).toEqual({
      WINDOW: 'btc-updown-5m-1795665600',
      STATE: 'recording',
      START: '2026-11-26 04:00 UTC',
      'FIRST BOOKS': '54.0 s before',
      'LAST MESSAGE': '1.8 s ago',
      GAPS: '0',
    });
    expect(stdout).toContain('\nno gaps in the last 24 hours\n\nno missed windows\n');
    for (const line of [
      'Frames: 2,000,000, with 1,990,000 events, 50.0 % of them repeated by another socket',
      'Hashes: 400,000 matched, 0 failed',
      'Windows: 72, 0 missed',
      'Gaps: 0, 0 open',
      'First book: 0.1 s (median), 0.9 s at most; 1 subscribed again',
      'Journal: 150 MB written, now to 2026-11-26T04.frames.zst',
      'Lag: 3.5 s, from the journal to the archive',
      'Clock: 12 ms, messages come late; 0 steps',
      'Disk: 40 GB free, recording stops below 500 MB',
    ]) {
      expect(stdout).toContain(`\n${line}\n`);
    }
    expect(JSON.parse((await held.command('record status --json')).stdout)).toEqual({
      state: 'running',
      problems: [],
      recorder: recorderStatus(NOW),
    });
  });

  test('shows gaps, missed windows and each problem, with exit code 3', async () => {
    using held = place(troubledStatus(NOW));
    const { code, stdout } = await held.command('record status');
    expect(code).toBe(3);
    expect(stdout.match(/^problem: .*/gm)).toHaveLength(4);
    expect(rowsUnder(stdout, 'SOCKET')[0]!.STATE).toBe('waiting, next try in 8.0 s');
    const [, second] = stdout.split(/^(?=WINDOW)/m).slice(1);
    expect(rowsUnder(second!, 'WINDOW').map(({ OUTCOME, LENGTH, REASON }) => [OUTCOME, LENGTH, REASON])).toEqual([
      ['up', 'open for 30.0 s', 'the sockets brought nothing while the venue had newer books'],
      ['both', '8.5 s', 'no socket was open (the venue closed it (1006))'],
      ['down', '0.2 s', 'the recorder was not running'],
    ]);
    expect(stdout).toContain('eth-updown-5m-1795665000  2026-11-26 03:50 UTC  Gamma listed no market for it\n');
    expect(stdout).toContain('Clock: 31 ms, messages come early; 2 steps\n');
    const { problems } = JSON.parse((await held.command('record status --json')).stdout);
    expect(problems).toEqual(stdout.match(/(?<=^problem: ).*/gm));
  });

  test('text from the venue cannot move the cursor', async () => {
    const status = recorderStatus(NOW);
    const reason = 'closed: \u001b[2J';
    using held = place({
      ...status,
      sockets: [{ ...status.sockets[0]!, state: 'connecting', lastEnd: reason }],
      gaps: [{ slug: 'a\u001b[1A', outcome: null, fromMs: NOW - 90_000, toMs: null, reason }],
      problem: reason,
    });
    expect((await held.command('record status')).stdout).not.toContain('\u001b');
  });

  test('a recorder that has stopped is a problem of it and of doctor, and a line of status', async () => {
    using held = place(recorderStatus(NOW));
    const since = 'the recorder is not running since 2026-11-26T04:02:30.000Z';
    const { code, stdout } = await held.command('record status', 10_001);
    expect(code).toBe(3);
    expect(stdout).toContain(
      `\nproblem: ${since}: run 'systemctl start bookreel-recorder', or delete recorder.json if`,
    );
    // As it was when it ended.
    expect(rowsUnder(stdout, 'SOCKET')[0]!['LAST FRAME']).toBe('0.2 s ago');
    await held.command('seed --json');
    const doctor = JSON.parse((await held.command('doctor --json', 10_001)).stdout) as {
      checks: { check: string; findings: string[] }[];
    };
    expect(doctor.checks.find(({ check }) => check === 'recorder')!.findings).toEqual([expect.stringContaining(since)]);
    expect((await held.command('status')).stdout).toContain('\nstarted 2026-11-26 01:02 UTC: ');
    expect((await held.command('status', 10_001)).stdout).toContain(
      '\nthe recorder is not running since 2026-11-26 04:02 UTC; it recorded btc, eth of 5m from https://clob.polymarket.com\n',
    );
    expect(JSON.parse((await held.command('status --json', 10_001)).stdout).recorder).toBe('stopped');
  });

  test('a file that cannot be read is a problem', async () => {
    using held = place();
    writeFileSync(join(held.data, RECORDER_FILE), '{}');
    const { code, stdout } = await held.command('record status');
    expect(code).toBe(3);
    expect(stdout).toMatch(/^the state of the recorder cannot be read\nproblem: recorder.json is damaged, or .*\n$/);
  });
});

describe('Each of these is a problem of a recorder, and what is at its bound is none.', () => {
  const good = recorderStatus(NOW);
  const { sockets, journal, disk } = good;
  const closed = (lastEnd: string | null) =>
    sockets.map((socket) => ({ ...socket, state: 'waiting' as const, openedMs: null, retryMs: NOW + 1000, lastEnd }));
  const missed = (agoMs: number) => [{ slug: 's', startMs: NOW - agoMs, reason: 'why' }];
  const open = (agoMs: number) => [{ slug: 's', outcome: null, fromMs: NOW - agoMs, toMs: null, reason: 'why' }];
  const until = (lagMs: number) => ({ ...journal, writtenUntilMs: NOW, storedMs: NOW - lagMs });
  const offset = (offsetMs: number) => ({ offsetMs, steps: 0 });
  test.each<readonly [string, Partial<RecorderStatus>, RegExp | undefined]>([
    ['nothing', {}, undefined],
    ['a sentence of its own', { problem: 'no disk' }, /^no disk$/],
    ['one closed socket', { sockets: [sockets[0]!, closed('429')[1]!] }, undefined],
    ['no open socket', { sockets: closed('429') }, /^no socket to the venue is open \(429\): /],
    ['no open socket yet', { sockets: closed(null) }, /^no socket to the venue is open: /],
    ['a missed window', { missed: missed(3_600_000) }, /^1 window of the last hour .* s \(why\)/],
    ['an old missed window', { missed: missed(3_600_001) }, undefined],
    ['a long gap', { gaps: open(60_001) }, /^1 gap of more than a minute, the last one of s since 2026-.* \(why\)/],
    ['a short gap', { gaps: open(60_000) }, undefined],
    ['a gap that ended', { gaps: [{ ...open(90_000)[0]!, toMs: NOW }] }, undefined],
    ['a lag', { journal: until(60_001) }, /^the archive is 60 s behind the journal: /],
    ['a short lag', { journal: until(60_000) }, undefined],
    ['nothing stored', { journal: { ...journal, storedMs: null } }, /^the archive is 10800 s behind the journal: /],
    ['nothing written', { journal: { ...journal, storedMs: null, writtenUntilMs: null } }, undefined],
    ['a clock that is behind', { clock: offset(-21) }, /^messages arrive 21 ms before their time at the venue: /],
    ['a clock that is almost right', { clock: offset(-20) }, undefined],
    ['a clock that is ahead', { clock: offset(2001) }, /^messages arrive 2001 ms after their time at the venue: /],
    ['a clock that is not too far ahead', { clock: offset(2000) }, undefined],
    ['a full disk', { disk: { ...disk, freeBytes: 499e6 } }, /^the disk has 499.0 MB left, less than the 500.0 MB of/],
    ['a disk at its floor', { disk: { ...disk, freeBytes: 500e6 } }, undefined],
    ['a disk that is not known', { disk: { ...disk, freeBytes: null } }, undefined],
    ['a full disk that it names itself', { problem: 'full', disk: { ...disk, freeBytes: 1 } }, /^full$/],
  ])('%s', (_, change, sentence) => {
    const found = recorderProblems({ state: 'running', status: recorderStatus(NOW, change) }, NOW).map(problemLine);
    expect(found).toEqual(sentence === undefined ? [] : [expect.stringMatching(sentence)]);
  });
});
