import { expect, test } from 'bun:test';
import { PresentLog } from '../../src/cli/present-log.ts';
import { Log } from '../../src/http/plugins/log.ts';
import { Replays } from '../../src/replay/replays.ts';
import { EVERYTHING } from '../http/replay/replaying.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { messagesIn } from '../support/logged.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const FROM_MS = Date.parse('2026-04-15T16:00:00Z');
const PRESENT_MS = Date.parse('2026-11-23T10:31:00Z');
const iso = (ms: number) => new Date(ms).toISOString();
const idOf = (nth: number) => `0x${String(nth).padStart(64, '0')}`;

/** A market that starts `minutes` after FROM_MS, with one book at its start. */
function market(nth: number, minutes: number, timeframe = '5m', length = 5): object[] {
  const [startMs, endMs] = [FROM_MS + minutes * 60_000, FROM_MS + (minutes + length) * 60_000];
  const window = { timeframe, startTime: iso(startMs), endTime: iso(endMs), createdAt: iso(FROM_MS - 86_400_000) };
  const conditionId = idOf(nth);
  return [
    sampleMarket({ conditionId, slug: `recorded-${nth}`, clobTokenIds: [`7${nth}1`, `7${nth}2`], ...window }),
    sampleSnapshot({ conditionId, timestamp: startMs }),
  ];
}

/** The lines that follow each step of a test. */
async function logOf(records: readonly object[], work: (replays: Replays, pass: (ms: number) => void) => void) {
  using held = temporaryArchive();
  await importRecords(held.archive, records);
  let passedMs = 0;
  const replays = new Replays(held.archive, { monotonicMs: () => passedMs, wallMs: () => PRESENT_MS + passedMs });
  let text = '';
  const sink = async (lines: string) => {
    text += lines;
  };
  const log = new Log({ sink, format: 'json', level: 'info', nowMs: () => 0 });
  using presentLog = new PresentLog(replays, log);
  presentLog.start();
  work(replays, (ms) => {
    passedMs += ms;
  });
  await log.flush();
  return messagesIn(text).map(({ level, message }) => `${level} ${message.replace(/^replay [0-9a-f]{12}: /, '')}`);
}

const REBASED = { ...EVERYTHING, rebase: true };
const slugAt = (time: string) => `btc-updown-5m-${Date.parse(`2026-11-23T${time}Z`) / 1000}`;

test('names the recorded market of each slug when its window opens, and those that are open again after a jump', async () => {
  const lines = await logOf([market(1, 0), market(2, 5), market(3, 10)].flat(), (replays, pass) => {
    replays.create(EVERYTHING).resume();
    const replay = replays.create(REBASED);
    replay.resume();
    pass(239_000);
    replay.clock.setSpeed(2);
    pass(1000);
    replay.clock.setSpeed(1);
    pass(60_000);
    replay.seek(FROM_MS);
  });
  expect(lines).toEqual([
    'info 2026-04-15T16:01:00.000Z is moved to 2026-11-23T10:31:00.000Z',
    `info ${slugAt('10:30:00')} is the recorded market recorded-1, ${idOf(1)}`,
    `info ${slugAt('10:35:00')} is the recorded market recorded-2, ${idOf(2)}`,
    'info 2026-04-15T16:01:00.000Z is moved to 2026-11-23T10:36:00.000Z',
    `info ${slugAt('10:35:00')} is the recorded market recorded-1, ${idOf(1)}`,
  ]);
});

test('warns if the clock cannot be in the present, and of markets that no bot finds', async () => {
  const records = [market(1, 0), market(2, 0, '1h', 60), market(3, 60, '1h', 60)].flat();
  const lines = await logOf(records, (replays) => {
    replays.create({ ...REBASED, fromMs: FROM_MS + 90_000, toMs: FROM_MS + 120_000 }).resume();
  });
  expect(lines).toEqual([
    'info 2026-04-15T16:01:30.000Z is moved to 2026-11-23T10:31:30.000Z',
    "warn its clock is 30 s after the present: the recording does not have the present's place in its window",
    "warn the windows of 2 markets of 1h do not start when the venue's windows start now: bots cannot find them by their clock",
    `info ${slugAt('10:30:00')} is the recorded market recorded-1, ${idOf(1)}`,
    `info bitcoin-up-or-down-november-23-2026-6am-et is the recorded market recorded-2, ${idOf(2)}`,
  ]);
});

test('The log names the recorded market of each rebased slug when its window opens, at most 50 a second.', async () => {
  const records = Array.from({ length: 60 }, (_, i) => market(i + 1, 0)).flat();
  const lines = await logOf(records, (replays) => replays.create(REBASED).resume());
  expect(lines).toHaveLength(52);
  expect(lines.at(-1)).toBe('info 10 more markets opened');
});
