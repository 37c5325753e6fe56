import { expect } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { fault } from './fault.ts';
import { faketimeLibrary } from './machine.ts';
import { type Answer, expectRecorded, READY, serveLight } from './served.ts';

const LIBRARY = faketimeLibrary();
const LACKS = LIBRARY === undefined ? 'faketime' : undefined;
const RPM = 5;
const TIERS = '/v1/billing/tiers';
const WINDOW_SECONDS = 60;
/** Tolerance for rounding up, and for the time between the two readings of the clock. */
const SLACK_SECONDS = 3;
const STEPS = [
  ['an hour forward', 3600],
  ['an hour back', -3600],
  ['a day forward', 86_400],
  ['a day back', -86_400],
] as const;

/** A server whose wall clock can be set. Its monotonic clock continues, as on a machine whose clock is set. */
async function servedWithClock(cwd: string) {
  const file = join(cwd, 'clock');
  const set = (offsetSeconds: number) =>
    writeFileSync(file, `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds.toFixed(0)}\n`);
  set(0);
  const env = {
    LD_PRELOAD: LIBRARY!,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  return { served: await serveLight({ cwd, rpm: RPM, env }), set };
}

const header = ({ headers }: Answer, name: string) => Number(headers.get(name));

/** Expects that the reset in an answer is within the next minute of the new time. */
function expectSensibleReset(answer: Answer, offsetSeconds: number): void {
  const leftSeconds = header(answer, 'x-ratelimit-reset') - (Date.now() / 1000 + offsetSeconds);
  expect(leftSeconds).toBeGreaterThan(-SLACK_SECONDS);
  expect(leftSeconds).toBeLessThanOrEqual(WINDOW_SECONDS + SLACK_SECONDS);
}

fault(
  {
    what: 'the wall clock is set by an hour and by a day, forwards and backwards, within a window',
    expected:
      'exactly as many requests as the limit are served; reset is within the next minute of the new time; data is the same',
    lacks: LACKS,
  },
  async () => {
    using directory = temporaryDirectory();
    const { served, set } = await servedWithClock(directory.path);
    await using _ = served;
    const first = await served.nearest(7);
    expectRecorded(first, 7);
    expectSensibleReset(first, 0);
    let used = 1;
    for (const [, offset] of STEPS) {
      set(offset);
      const answer = await served.ask(TIERS);
      used += 1;
      expect([answer.status, header(answer, 'x-ratelimit-remaining')]).toEqual([200, RPM - used]);
      expectSensibleReset(answer, offset);
    }
    const waits: number[] = [];
    for (const [, offset] of [...STEPS, ['right', 0] as const]) {
      set(offset);
      const refused = await served.ask(TIERS);
      expect(refused.status).toBe(429);
      expectSensibleReset(refused, offset);
      waits.push(header(refused, 'retry-after'));
      expect(await served.ready()).toEqual(READY);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(WINDOW_SECONDS);
    return `${RPM} of ${RPM} served over 4 steps, then 429 at every wall clock; Retry-After ${waits.join(', ')} s`;
  },
);

for (const [step, offset] of STEPS) {
  fault(
    {
      what: `the wall clock is set ${step} after the limit is reached`,
      expected: 'the window ends after one minute of real time, and the next one has the whole limit',
      lacks: LACKS,
      long: true,
    },
    async () => {
      using directory = temporaryDirectory();
      const { served, set } = await servedWithClock(directory.path);
      await using _ = served;
      const beforeMs = performance.now();
      expect((await served.ask(TIERS)).status).toBe(200);
      const begunMs = performance.now();
      for (let i = 1; i < RPM; i += 1) expect((await served.ask(TIERS)).status).toBe(200);
      set(offset);
      let answer = await served.ask(TIERS);
      let refusedMs = 0;
      while (answer.status === 429) {
        refusedMs = performance.now();
        expectSensibleReset(answer, offset);
        expect(header(answer, 'retry-after')).toBeLessThanOrEqual(WINDOW_SECONDS);
        await Bun.sleep(200);
        answer = await served.ask(TIERS);
      }
      const servedMs = performance.now();
      expect([answer.status, header(answer, 'x-ratelimit-remaining')]).toEqual([200, RPM - 1]);
      // The window began between the two readings around its first request.
      expect(servedMs - beforeMs).toBeGreaterThanOrEqual(WINDOW_SECONDS * 1000);
      expect(refusedMs - begunMs).toBeLessThanOrEqual(WINDOW_SECONDS * 1000);
      return `refused until ${((refusedMs - begunMs) / 1000).toFixed(1)} s, served again at ${((servedMs - beforeMs) / 1000).toFixed(1)} s`;
    },
  );
}
