import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ReplayClock, type Speed } from '../../src/replay/replay-clock.ts';

const SPAN = { fromMs: 1_000_000, toMs: 2_000_000 };

/** A clock, and the real time that drives it. */
function driven(speed: Speed) {
  const real = { ms: 5_000 };
  return { real, clock: new ReplayClock(SPAN, speed, () => real.ms) };
}

describe('a clock with a number as its speed', () => {
  test('is at the beginning until it is resumed, then runs at its speed, and ends with its span', () => {
    const { real, clock } = driven(2);
    real.ms += 1000;
    expect([clock.nowMs, clock.state]).toEqual([SPAN.fromMs, 'paused']);
    clock.resume();
    real.ms += 1000;
    expect([clock.nowMs, clock.dueMs, clock.state]).toEqual([SPAN.fromMs + 2000, SPAN.fromMs + 2000, 'running']);
    clock.setSpeed(0.5);
    real.ms += 1000;
    expect(clock.nowMs).toBe(SPAN.fromMs + 2500);
    clock.pause();
    real.ms += 1000;
    expect(clock.nowMs).toBe(SPAN.fromMs + 2500);
    clock.setSpeed(1000);
    clock.resume();
    real.ms += 1_000_000;
    expect([clock.nowMs, clock.state]).toEqual([SPAN.toMs, 'ended']);
  });

  test('stands where it jumps for as long as it is asked to, also if it is paused meanwhile', () => {
    const { real, clock } = driven(4);
    clock.seek(SPAN.fromMs + 100, 1000);
    clock.resume();
    real.ms += 400;
    expect([clock.nowMs, clock.realMsUntil(SPAN.fromMs + 500)]).toEqual([SPAN.fromMs + 100, 700]);
    clock.pause();
    clock.setSpeed(2);
    clock.resume();
    real.ms += 700;
    expect([clock.nowMs, clock.realMsUntil(SPAN.fromMs + 500)]).toEqual([SPAN.fromMs + 300, 100]);
    clock.seek(SPAN.fromMs);
    real.ms += 10;
    expect(clock.nowMs).toBe(SPAN.fromMs + 20);
  });

  test('computes the time to an instant, and none while it is paused', () => {
    const { real, clock } = driven(4);
    expect(clock.realMsUntil(SPAN.fromMs + 400)).toBeUndefined();
    clock.resume();
    real.ms += 50;
    expect(clock.realMsUntil(SPAN.fromMs + 400)).toBe(50);
    expect(clock.realMsUntil(SPAN.fromMs)).toBe(0);
    expect(clock.realMsUntil(SPAN.toMs + 1)).toBeUndefined();
  });

  test('jumps within its span, and calls its listeners', () => {
    const { real, clock } = driven(1);
    const heard: string[] = [];
    const stop = clock.onChange((change) => heard.push(`${change} ${clock.nowMs - SPAN.fromMs}`));
    clock.resume();
    real.ms += 700;
    clock.seek(SPAN.fromMs + 100);
    real.ms += 10;
    clock.stepTo(SPAN.fromMs + 300);
    real.ms += 10;
    expect([clock.nowMs - SPAN.fromMs, clock.state]).toEqual([300, 'paused']);
    // A step never goes back.
    clock.stepTo(SPAN.fromMs);
    expect(clock.nowMs - SPAN.fromMs).toBe(300);
    stop();
    clock.resume();
    expect(heard).toEqual(['pace 0', 'jump 100', 'pace 300', 'pace 300']);
    expect(() => clock.seek(SPAN.fromMs - 1)).toThrow('outside the replay');
    expect(() => clock.seek(SPAN.toMs + 1)).toThrow('outside the replay');
  });

  test.each([0, 0.09, 1000.1, -1, Number.NaN, Infinity])('a speed of %p is refused', (speed) => {
    expect(() => driven(speed)).toThrow('the speed must be');
    expect(() => driven(1).clock.setSpeed(speed)).toThrow('the speed must be');
  });

  test('only goes back by a jump, after any changes', () => {
    const act = fc.oneof(
      fc.record({ do: fc.constant('wait' as const), ms: fc.nat(5000) }),
      fc.record({ do: fc.constant('pause' as const) }),
      fc.record({ do: fc.constant('resume' as const) }),
      fc.record({ do: fc.constant('speed' as const), speed: fc.double({ min: 0.1, max: 1000, noNaN: true }) }),
      fc.record({ do: fc.constant('max' as const) }),
      fc.record({ do: fc.constant('step' as const), ms: fc.nat(2_000) }),
      fc.record({ do: fc.constant('follow' as const) }),
      fc.record({ do: fc.constant('reach' as const), ms: fc.nat(5000) }),
      fc.record({ do: fc.constant('leave' as const) }),
    );
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const { real, clock } = driven(1);
        const followers: { follower: ReturnType<ReplayClock['follow']>; atMs: number }[] = [];
        let lastMs = clock.nowMs;
        for (const each of acts) {
          if (each.do === 'wait') real.ms += each.ms;
          if (each.do === 'pause') clock.pause();
          if (each.do === 'resume') clock.resume();
          if (each.do === 'speed') clock.setSpeed(each.speed);
          if (each.do === 'max') clock.setSpeed('max');
          if (each.do === 'step') clock.stepTo(clock.nowMs + each.ms);
          if (each.do === 'follow') followers.push({ follower: clock.follow(clock.nowMs), atMs: clock.nowMs });
          if (each.do === 'leave') followers.pop()?.follower.leave();
          const [first] = followers;
          if (each.do === 'reach' && first !== undefined) {
            first.atMs = Math.min(clock.dueMs, first.atMs + each.ms);
            first.follower.reached(first.atMs);
          }
          expect(clock.nowMs).toBeGreaterThanOrEqual(lastMs);
          expect(clock.nowMs).toBeLessThanOrEqual(SPAN.toMs);
          expect(clock.dueMs).toBeGreaterThanOrEqual(clock.nowMs);
          lastMs = clock.nowMs;
        }
      }),
    );
  });
});

describe('a clock whose speed is max', () => {
  test('follows its slowest follower, and waits while it has none', () => {
    const { real, clock } = driven('max');
    clock.resume();
    real.ms += 10_000;
    expect(clock.nowMs).toBe(SPAN.fromMs);
    const fast = clock.follow(clock.nowMs);
    const slow = clock.follow(clock.nowMs);
    fast.reached(SPAN.fromMs + 500);
    slow.reached(SPAN.fromMs + 20);
    expect([clock.nowMs, clock.dueMs]).toEqual([SPAN.fromMs + 20, SPAN.toMs]);
    slow.leave();
    expect(clock.nowMs).toBe(SPAN.fromMs + 500);
    fast.leave();
    expect(clock.nowMs).toBe(SPAN.fromMs + 500);
  });

  test('takes its followers along when it jumps', () => {
    const { clock } = driven('max');
    clock.resume();
    const follower = clock.follow(clock.nowMs);
    follower.reached(SPAN.fromMs + 900);
    clock.seek(SPAN.fromMs + 10);
    expect(clock.nowMs).toBe(SPAN.fromMs + 10);
    follower.reached(SPAN.fromMs + 30);
    expect(clock.nowMs).toBe(SPAN.fromMs + 30);
    follower.reached(SPAN.toMs);
    expect(clock.state).toBe('ended');
  });

  test('sends nothing beyond its instant while it is paused', () => {
    const { clock } = driven('max');
    expect(clock.dueMs).toBe(SPAN.fromMs);
    clock.stepTo(SPAN.fromMs + 7);
    expect([clock.dueMs, clock.nowMs]).toEqual([SPAN.fromMs + 7, SPAN.fromMs + 7]);
  });
});
