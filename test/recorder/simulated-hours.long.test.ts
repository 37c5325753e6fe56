import { expect, test } from 'bun:test';
import { figureOfAll } from './results.ts';
import { FIRST_MS, simulatedHours } from './simulated-hours.ts';

const FIVE_MS = 300_000;
const slugAt = (index: number, coin = 'btc') => `${coin}-updown-5m-${(FIRST_MS + index * FIVE_MS) / 1000}`;

/** Three windows of each coin. */
const WINDOWS = { hours: 0.25, coins: ['btc', 'eth'], timeframes: ['5m'], eventsPerSecond: 0.4 } as const;

const frozen: string[] = [];
figureOfAll('a freeze with PONG alive', '3 freezes in 3 windows of 2 coins', frozen, 1);

test('a socket that is frozen with PONG alive is noticed within 30 s, and costs nothing', async () => {
  const noticed: number[] = [];
  const { wrong } = await simulatedHours({
    ...WINDOWS,
    prepare: (proxy, clock) => {
      for (const minute of [3, 8, 14]) {
        clock.after(19 * 60_000 + minute * 60_000, () => {
          const link = proxy.links[minute % proxy.links.length]!;
          link.freeze();
          const frozenUs = clock.nowUs();
          const look = () => {
            if (proxy.links.includes(link)) clock.after(100, look);
            else noticed.push((clock.nowUs() - frozenUs) / 1_000_000);
          };
          look();
        });
      }
    },
  });
  expect(wrong).toEqual([]);
  expect(noticed).toHaveLength(3);
  expect(Math.max(...noticed)).toBeLessThanOrEqual(30);
  frozen.push(`noticed after at most ${Math.max(...noticed).toFixed(1)} s, 0 books missing, 0 gaps`);
});

test('Gamma that is a minute late, and lists markets without ids for minutes, costs no window', async () => {
  const { wrong, late, windows } = await simulatedHours({
    ...WINDOWS,
    prepare: ({ gamma }) => Object.assign(gamma, { lateMs: 60_000, idsLateMs: 240_000 }),
  });
  expect({ wrong, late, windows }).toEqual({ wrong: [], late: [], windows: 6 });
});

test('a slug that never comes is a missed window, and so is one with the market of another year', async () => {
  const [never, wrongYear] = [slugAt(1), slugAt(2, 'eth')];
  const { wrong, status, log } = await simulatedHours({
    ...WINDOWS,
    prepare: ({ gamma }) => {
      gamma.never.add(never);
      gamma.wrongYear.add(wrongYear);
    },
  });
  expect(status.missed.map(({ slug }) => slug).sort()).toEqual([never, wrongYear].sort());
  expect(status.totals.windowsMissed).toBe(2);
  expect(log.filter((line) => line.includes(never) || line.includes(wrongYear))).toHaveLength(2);
  expect(wrong.filter((line) => !line.includes(never) && !line.includes(wrongYear))).toEqual([]);
});

test('A socket that ends costs nothing while another one is alive, also if the one that ended had brought the last frame.', async () => {
  const { wrong, status } = await simulatedHours({
    ...WINDOWS,
    ...{ hours: 0.5, coins: ['btc'], eventsPerSecond: 4 },
    // Frames of odd sockets arrive after those of even ones.
    proxy: { faultsOf: (number) => (number % 2 === 1 ? { delayMsMax: 90 } : {}) },
    prepare: (proxy, clock) => {
      for (const minute of [1, 3, 6, 9, 12, 16, 21, 26]) {
        clock.after((19 + minute) * 60_000, () => proxy.links.find(({ number }) => number % 2 === 1)?.kill());
      }
    },
  });
  expect(wrong).toEqual([]);
  expect(status.totals.gaps).toBe(0);
  // The first books of even sockets arrive at once, those of odd ones up to 90 ms after they were asked for.
  const { median, max } = status.firstBookDelayMs!;
  expect([median >= 0, median <= max, max > 0, max <= 90]).toEqual([true, true, true, true]);
});

test('subscriptions that are never answered on one socket, and frames lost there, cost nothing', async () => {
  const { wrong, late, proxy } = await simulatedHours({
    ...WINDOWS,
    proxy: { faultsOf: (number) => (number % 2 === 1 ? { unanswered: 2, drop: 0.03 } : {}) },
  });
  expect({ wrong, late }).toEqual({ wrong: [], late: [] });
  expect(proxy.counts.unanswered).toBeGreaterThan(1);
});

test.each([429, 403])('sockets that are refused with %d are tried again after a minute', async (status) => {
  const attempts: number[] = [];
  const { wrong } = await simulatedHours({
    ...WINDOWS,
    prepare: (proxy, clock) => {
      // Before the first window: connections end, and are refused.
      clock.after(15 * 60_000, () => {
        proxy.refuse(/^\/ws/, status, 150_000);
        for (const link of proxy.links) link.kill();
        const { requests } = proxy.counts;
        const look = (count: number) => {
          const present = requests.get('/ws/market') ?? 0;
          if (present > count) attempts.push(clock.nowUs() / 1_000_000);
          if (attempts.length < 6) clock.after(50, () => look(present));
        };
        look(0);
      });
    },
  });
  expect(wrong).toEqual([]);
  const [first, ...others] = attempts;
  expect(others.filter((at) => at > first! + 5 && at < first! + 55)).toEqual([]);
});

test('the restart of the venue (425) is a gap with its reason, and nothing else is lost', async () => {
  const { wrong, status } = await simulatedHours({
    ...WINDOWS,
    prepare: (proxy, clock) => {
      clock.after(19 * 60_000 + 7 * 60_000, () => {
        proxy.refuse(/^\//, 425, 90_000);
        for (const link of proxy.links) link.kill('restart');
      });
    },
  });
  const struck = [slugAt(1), slugAt(1, 'eth')];
  expect(wrong.filter((line) => !struck.some((slug) => line.startsWith(slug)))).toEqual([]);
  expect(new Set(status.gaps.map(({ slug }) => slug))).toEqual(new Set(struck));
  for (const { fromMs, toMs, reason } of status.gaps) {
    expect(reason).toContain('restart');
    expect(fromMs).toBeLessThanOrEqual(FIRST_MS + 7 * 60_000 + 5000);
    expect(toMs).toBeLessThanOrEqual(FIRST_MS + 8.5 * 60_000 + 20_000);
  }
});
