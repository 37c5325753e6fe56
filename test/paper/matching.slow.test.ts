import { describe, expect, test } from 'bun:test';
import { importPaths, importRecords, temporaryArchive } from '../support/archive.ts';
import { realRecording } from '../support/real-recordings.ts';
import { START_MS, sampleMarket } from '../support/sample-records.ts';
import { actionOf, recordOf, textOf } from './event-text.ts';
import type { Rules } from './oracle.ts';
import { type Cash, compare, expectedOf, knownUntil, played, recordingOf } from './played.ts';
import { randomMarket } from './random-market.ts';
import { randomActions } from './random-orders.ts';
import { SCENARIOS } from './scenarios.ts';

const SLUG = sampleMarket().slug;
const RULES: Rules = { latencyMs: 0, takerDelayMs: 0, queue: 'behind', fees: { rate: 0, exponent: 1 } };

describe('hand-made scenarios', () => {
  test.each(SCENARIOS)('$what', async ({ market = {}, records, rules, cash = 100, actions, events }) => {
    using place = temporaryArchive();
    const endTime = new Date(START_MS + 100_000).toISOString();
    const report = await importRecords(place.archive, [sampleMarket({ endTime, ...market }), ...records.map(recordOf)]);
    expect(report.total.rejected).toBe(0);
    const recording = await recordingOf(place.archive, SLUG);
    const chosen = { ...RULES, ...rules };
    const deposits: Cash = { a: cash * 1e6 };
    const sent = actions.map(actionOf);
    const naive = expectedOf(place.archive, SLUG, recording, chosen, deposits, sent);
    const engine = played(place.archive, SLUG, chosen, deposits, sent);
    expect(naive.a!.slice(1).map(textOf)).toEqual([...events]);
    expect(engine.get('a')!.events).toEqual(naive.a!);
  });
});

describe('random orders', () => {
  const kinds = ['up', 'both', 'alternating'] as const;
  const cases = [1, 2, 3, 4, 5, 6].map((seed) => ({ seed, recorded: kinds[seed % 3]!, rules: rulesOf(seed) }));

  test.each(cases)('agree with the oracle on a simulated recording, seed $seed', async ({ seed, recorded, rules }) => {
    using place = temporaryArchive();
    await importRecords(place.archive, randomMarket(seed, recorded, 150));
    compare(place.archive, SLUG, await recordingOf(place.archive, SLUG), seed, rules, 100);
  });

  const real = realRecording('snapshots-1s');
  test.skipIf(real === undefined)('agree with the oracle on a real recording', async () => {
    using place = temporaryArchive();
    await importPaths(place.archive, real!);
    const slug = 'btc-updown-5m-1777108200';
    const recording = await recordingOf(place.archive, slug);
    for (const seed of [1, 2, 3]) compare(place.archive, slug, recording, seed, rulesOf(seed), 60);
  });

  test('What an account does up to an instant does not depend on the recording after it.', async () => {
    for (const seed of [21, 22]) {
      const lines = randomMarket(seed, kinds[seed % 3]!, 150) as { timestamp?: string; from?: string }[];
      const times = lines.flatMap(({ timestamp }) => (timestamp === undefined ? [] : [timestamp]));
      const until = times[Math.floor(times.length / 2)]!;
      const others = randomMarket(seed + 100, kinds[(seed + 1) % 3]!, 300) as typeof lines;
      const isKept = ({ timestamp, from }: (typeof lines)[number]) => (timestamp ?? from ?? '') <= until;
      const changed = [...lines.filter(isKept), ...others.filter((line) => !isKept(line))];
      using place = temporaryArchive();
      await importRecords(place.archive, lines);
      using other = temporaryArchive();
      await importRecords(other.archive, changed);
      const actions = randomActions(await recordingOf(place.archive, SLUG), seed, 150);
      const known = (untilMs: number) =>
        [place, other].map(({ archive }) => knownUntil(archive, SLUG, rulesOf(seed), actions, untilMs));
      const [before, changedBefore] = known(Date.parse(until));
      expect(changedBefore).toBe(before!);
      const [whole, changedWhole] = known(Infinity);
      expect(changedWhole).not.toBe(whole!);
    }
  });
});

function rulesOf(seed: number): Rules {
  return {
    latencyMs: seed % 2 === 0 ? 0 : 40,
    takerDelayMs: seed % 4 < 2 ? 0 : 250,
    queue: (['behind', 'mid', 'front'] as const)[seed % 3]!,
    fees: { rate: seed % 5 === 0 ? 0 : 0.07, exponent: seed % 7 === 0 ? 2 : 1 },
  };
}
