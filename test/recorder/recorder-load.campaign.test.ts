import { expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { heldMegabytes, processorSeconds } from './processor-time.ts';
import { RecorderProcess } from './recorder-process.ts';
import { figure } from './results.ts';

const SECONDS = Number(process.env.RECORDER_LOAD_SECONDS ?? 4);
const BURST_SECONDS = Number(process.env.RECORDER_BURST_SECONDS ?? 1);
const COINS = ['btc', 'eth', 'sol', 'xrp', 'doge', 'bnb', 'hype'];
const LOOK_MS = 500;
/** The venue of a busy machine sends the first books of a window late: that is a gap, and no loss. */
const LATE = 'no book had come when the window began';

test.each([
  [1000, SECONDS],
  [5000, BURST_SECONDS],
])(
  'a venue with %d frames/s on each of two sockets for %d s loses nothing',
  async (framesPerSecond, seconds) => {
    using directory = temporaryDirectory();
    // A process of its own: the recorder does not wait for the test.
    await using venue = startChild([
      process.execPath,
      `${import.meta.dir}/venue.ts`,
      '--frames',
      String(framesPerSecond / COINS.length),
    ]);
    const [, url = ''] = await venue.said(/(http:\S+)/);
    const recorder = new RecorderProcess(directory.path, url, ['--coin', COINS.join(), '--tf', '5m']);
    await using child = recorder.child;
    const first = await recorder.until(
      ({ sockets }) => sockets.length === 2 && sockets.every(({ frames }) => frames > 0),
    );
    const [startSeconds, startMs] = [processorSeconds(child.pid), performance.now()];
    let [lagMs, queuedBytes] = [0, 0];
    let most: readonly [own: number, storing: number] = [0, 0];
    while (performance.now() - startMs < seconds * 1000) {
      await Bun.sleep(LOOK_MS);
      const { journal } = recorder.status()!;
      if (journal.storedMs !== null) lagMs = Math.max(lagMs, journal.writtenUntilMs! - journal.storedMs);
      queuedBytes = Math.max(queuedBytes, journal.queuedBytes);
      const held = heldMegabytes(child.pid);
      if (held[0] + held[1] > most[0] + most[1]) most = held;
    }
    const passed = (performance.now() - startMs) / 1000;
    const share = (processorSeconds(child.pid) - startSeconds) / passed;
    const [own, storing] = most;
    const last = recorder.status()!;
    expect(await recorder.stop()).toBe(0);
    const frames = (last.totals.frames - first.totals.frames) / passed;
    const end = recorder.status()!;
    expect(end.gaps.filter(({ reason }) => reason !== LATE)).toEqual([]);
    expect(end.totals.hashesFailed).toBe(0);
    expect(end.problem).toBeNull();
    expect(end.journal.queuedBytes).toBe(0);
    figure(
      `${framesPerSecond} frames/s`,
      `${seconds} s, two sockets, ${Math.round(frames)} frames/s arrived`,
      `${(share * 100).toFixed(0)} % of a core with storing, at most ${(own + storing).toFixed(0)} MB of PSS (${storing.toFixed(0)} MB of them for storing), ` +
        `lag at most ${(lagMs / 1000).toFixed(1)} s, queue ${(queuedBytes / 2 ** 20).toFixed(1)} MB, 0 gaps`,
    );
  },
  3_600_000,
);
