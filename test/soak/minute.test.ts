import { describe, expect, test } from 'bun:test';
import type { Tally } from './load.ts';
import { type Minute, minuteOf, verdictOf } from './minute.ts';

const CALM: Minute = {
  seconds: 60,
  answers: 1000,
  errors: 0,
  p50Ms: 1,
  p99Ms: 8,
  maxMs: 20,
  rssBytes: 100,
  cpuShare: 0.5,
  stolenShare: 0,
  otherWork: '',
  isAttacked: false,
};
/** The verdict of nine periods without an attack and nine with one, in turns. */
const run = (change: (index: number) => Partial<Minute>, attacked: (index: number) => Partial<Minute> = change) =>
  verdictOf(
    Array.from({ length: 9 }, (_, index) => [
      { ...CALM, ...change(index) },
      { ...CALM, ...attacked(index), isAttacked: true },
    ]).flat(),
  );

test('a minute has percentiles of its latencies and the median of its memory', () => {
  const tally: Tally = {
    latenciesMs: Array.from({ length: 100 }, (_, index) => 100 - index),
    statuses: new Map(),
    faults: [{ kind: 'nearest', path: '/', what: 'status 500' }],
    bytes: 0,
  };
  const readings = {
    seconds: 60,
    rssBytes: [9, 1, 5],
    cpuShare: 0.5,
    stolenShare: 0.1,
    otherWork: ['import', 'rotation'],
    isAttacked: true,
  };
  expect(minuteOf(tally, readings)).toEqual({
    ...CALM,
    answers: 100,
    errors: 1,
    p50Ms: 51,
    p99Ms: 100,
    maxMs: 100,
    rssBytes: 5,
    stolenShare: 0.1,
    otherWork: 'import, rotation',
    isAttacked: true,
  });
});

describe('a soak', () => {
  test('without changes passes', () => {
    expect(run(() => ({}))).toMatchObject({
      ...{ isClean: true, isBounded: true, isFlat: true, isFair: true },
      ...{ p99Ratio: 1, disturbed: 0, calm: { rssGrowth: 0 }, attacked: { rssGrowth: 0 } },
    });
  });

  test('with one wrong answer, or a minute without answers, is not clean', () => {
    expect(
      run(
        (index) => ({ errors: index === 4 ? 1 : 0 }),
        () => ({}),
      ),
    ).toMatchObject({ isClean: false, errors: 1 });
    expect(run((index) => ({ answers: index === 8 ? 0 : 10 })).isClean).toBe(false);
  });

  test('whose memory grows by 5 % is not bounded, and a single minute does not matter', () => {
    expect(run((index) => ({ rssBytes: index < 6 ? 1000 : 1050 })).isBounded).toBe(false);
    expect(run((index) => ({ rssBytes: index === 8 ? 9999 : 1000 })).isBounded).toBe(true);
  });

  test('compares memory during attacks with memory during attacks', () => {
    const much = () => ({ rssBytes: 1000 });
    const growing = (index: number) => ({ rssBytes: index < 6 ? 1000 : 1050 });
    expect(run(() => ({}), much)).toMatchObject({ isBounded: true, calm: { all: { rssBytes: 100 } } });
    expect(run(() => ({}), growing).isBounded).toBe(false);
    expect(run(growing, () => ({})).isBounded).toBe(false);
  });

  test('whose p99 is more than 3 times as long during attacks is not fair', () => {
    const attackedIn = (p99Ms: number) =>
      run(
        () => ({}),
        () => ({ p99Ms }),
      );
    expect(attackedIn(24)).toMatchObject({ isFair: true, isFlat: true, p99Ratio: 3, attacked: { all: { p99Ms: 24 } } });
    expect(attackedIn(25)).toMatchObject({ isFair: false, isFlat: true });
  });

  test('needs both kinds of periods', () => {
    expect(() => verdictOf(Array.from({ length: 9 }, () => CALM))).toThrow('fewer than three');
  });

  test('whose latency rises by more than a quarter and a millisecond is not flat', () => {
    expect(run((index) => ({ p99Ms: index < 6 ? 8 : 10.1 })).isFlat).toBe(false);
    expect(run((index) => ({ p99Ms: index < 6 ? 8 : 10 })).isFlat).toBe(true);
    expect(run((index) => ({ p99Ms: index < 6 ? 0.5 : 1.5 })).isFlat).toBe(true);
  });

  test('is judged without the minutes in which the host took time, unless all are such minutes', () => {
    const late = (index: number) => (index === 7 ? 8 : 99);
    const stolen = (index: number) => (index < 6 ? {} : { p99Ms: late(index), stolenShare: index === 7 ? 0 : 0.2 });
    expect(run(stolen, () => ({}))).toMatchObject({ isFlat: true, disturbed: 2 });
    expect(run((index) => (index < 6 ? {} : { p99Ms: 99, stolenShare: 0.2 })).isFlat).toBe(false);
  });
});
