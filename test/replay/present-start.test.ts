import { describe, expect, test } from 'bun:test';
import { TIMEFRAMES, type Timeframe } from '../../src/domain/timeframe.ts';
import { presentSlugs } from '../../src/replay/present-slugs.ts';
import {
  misplacedWindows,
  presentStart,
  type RecordedWindow,
  windowBeginning,
} from '../../src/replay/present-start.ts';
import { isWindowStart, WINDOW_MS } from '../../src/venue/slug.ts';
import { botSlug } from '../venue/bot-slug.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** When the clocks go back, two hours have one slug. */
const SECOND_HOUR = /(-november-1-2026-1am-et)-2$/;

type Window = RecordedWindow & Parameters<typeof presentSlugs>[0][number];

/** The windows of the venue of some timeframes that start within a span, each with a record from its start on. */
function venueWindows(timeframes: readonly Timeframe[], fromMs: number, toMs: number, symbol = 'btc'): Window[] {
  const windows: Window[] = [];
  for (let startMs = fromMs; startMs < toMs; startMs += 300_000) {
    for (const timeframe of timeframes) {
      if (!isWindowStart(timeframe, startMs)) continue;
      let endMs = startMs + WINDOW_MS[timeframe];
      // Noon follows noon, also on days with 23 or 25 hours.
      if (timeframe === '24h')
        endMs = [endMs - HOUR_MS, endMs, endMs + HOUR_MS].find((ms) => isWindowStart('24h', ms))!;
      const key = windows.length + 1;
      windows.push({
        key,
        conditionId: `0x${key}`,
        symbol,
        timeframe,
        startMs,
        endMs,
        firstMs: startMs,
        listedMs: startMs - DAY_MS,
      });
    }
  }
  return windows;
}

/** The timeframes whose open market, at the start and later, has the slug that a bot makes from its clock. */
function found(windows: readonly Window[], fromMs: number, toMs: number, wallMs: number) {
  const { instantMs, shiftMs } = presentStart(windows, { fromMs, toMs }, wallMs);
  const slugs = presentSlugs(windows, shiftMs);
  // A change of the clocks within the replay moves the later windows of 4h and 24h off the grid.
  const minutesAfter = misplacedWindows(windows, shiftMs).size === 0 ? [0, 7, 61, 299, 1500] : [0];
  const isFound = (timeframe: Timeframe) =>
    minutesAfter.every((minutes) => {
      const atMs = instantMs + minutes * 60_000;
      const open = windows.find(
        (window) => window.timeframe === timeframe && window.startMs <= atMs && atMs < window.endMs,
      );
      return (
        open === undefined ||
        slugs.get(open.key)?.replace(SECOND_HOUR, '$1') === botSlug(open.symbol, timeframe, atMs + shiftMs)
      );
    });
  const open = TIMEFRAMES.filter((timeframe) =>
    windows.some((window) => window.timeframe === timeframe && window.startMs <= instantMs && instantMs < window.endMs),
  );
  return { instantMs, aheadMs: instantMs + shiftMs - wallMs, open, found: open.filter(isFound) };
}

const RECORDED = ['2026-01-08', '2026-03-07', '2026-10-30'] as const;
const PRESENT = [
  ...['2026-11-23T00:45:12.345Z', '2026-07-01T15:59:59.999Z', '2027-03-14T06:30:00Z'],
  ...['2026-11-01T04:59:00Z', '2026-03-08T16:00:00Z'],
] as const;
const SELECTIONS: readonly (readonly Timeframe[])[] = [
  ...TIMEFRAMES.map((timeframe) => [timeframe]),
  ['5m', '15m'],
  ['15m', '4h'],
  TIMEFRAMES,
];

describe('a replay starts in the present', () => {
  test.each(SELECTIONS)('with %s %s %s %s %s: a bot’s slug is that of the open market', (...timeframes) => {
    const wanted = timeframes.filter((timeframe) => timeframe !== undefined);
    for (const recorded of RECORDED) {
      const fromMs = Date.parse(recorded);
      const toMs = fromMs + 1.5 * DAY_MS;
      const windows = venueWindows(wanted, fromMs - DAY_MS, toMs);
      for (const present of PRESENT) {
        const wallMs = Date.parse(present);
        const start = found(windows, fromMs + 1234, toMs, wallMs);
        const longestMs = Math.max(...wanted.map((timeframe) => WINDOW_MS[timeframe]));
        expect(start.instantMs).toBeWithin(fromMs + 1234, fromMs + 1234 + longestMs + HOUR_MS);
        expect([recorded, present, start.aheadMs, start.open]).toEqual([recorded, present, 0, [...wanted]]);
        expect([recorded, present, start.found]).toEqual([recorded, present, [...wanted]]);
      }
    }
  });

  const fromMs = Date.parse('2026-04-16T07:10:00Z');
  const one = venueWindows(['5m'], fromMs, fromMs + 300_000);
  const at = (time: string) => Date.parse(`2026-11-23T${time}Z`);

  test.each([
    // The market is open at the present's place in its window.
    ['10:31:00', '07:10:00', '07:15:20', '07:11:00', 0],
    ['10:30:00', '07:10:00', '07:15:20', '07:10:00', 0],
    ['10:34:59.999', '07:10:00', '07:15:20', '07:14:59.999', 0],
    ['10:32:00', '07:11:00', '07:15:20', '07:12:00', 0],
    // The recording does not have it: it starts at its beginning, in the same window, up to a window before or after the present.
    ['10:30:10', '07:11:00', '07:15:20', '07:11:00', 50_000],
    ['10:34:00', '07:11:00', '07:13:00', '07:11:00', -180_000],
    // No market is open: before its window, and after its end.
    ['10:33:00', '07:01:00', '07:09:00', '07:03:00', 0],
    ['10:33:00', '07:20:00', '07:50:00', '07:23:00', 0],
    ['10:33:00', '07:20:00', '07:21:00', '07:20:00', -180_000],
  ])(
    'A rebased replay gives a market the window of the present. (at %s: %s to %s, %s, %d ms)',
    (present, from, to, start, aheadMs) => {
      const recorded = (time: string) => Date.parse(`2026-04-16T${time}Z`);
      const span = { fromMs: recorded(from), toMs: recorded(to) };
      const { instantMs, shiftMs } = presentStart(one, span, at(present));
      expect([new Date(instantMs).toISOString(), instantMs + shiftMs - at(present)]).toEqual([
        new Date(recorded(start)).toISOString(),
        aheadMs,
      ]);
      expect(misplacedWindows(one, shiftMs)).toEqual(new Map());
    },
  );

  test('of instants at which the same market is open, the first that puts later markets on the grid counts', () => {
    const startMs = Date.parse('2026-04-16T10:00:00Z');
    const short = venueWindows(['5m'], startMs, startMs + 900_000);
    const later = venueWindows(['15m'], startMs + HOUR_MS, startMs + HOUR_MS + 1);
    const span = { fromMs: startMs, toMs: startMs + 2 * HOUR_MS };
    const startOf = (windows: readonly Window[]) => presentStart(windows, span, at('10:37:10')).instantMs - startMs;
    expect([startOf(short), startOf([...short, ...later])]).toEqual([130_000, 430_000]);
  });

  test('One shift moves all markets of a replay: it puts shorter timeframes on the venue’s grid first, and the log warns of the others.', () => {
    const startMs = Date.parse('2026-04-16T10:25:00Z');
    const windows = venueWindows(TIMEFRAMES, startMs - DAY_MS, startMs + 900_000).map((window) => ({
      ...window,
      firstMs: Math.max(window.firstMs, startMs),
    }));
    // An hour later at the same place the recording has nothing left, so it waits for a window instead.
    const start = found(windows, startMs, startMs + 900_000, at('01:07:00'));
    expect(new Date(start.instantMs).toISOString()).toBe('2026-04-16T10:25:00.000Z');
    expect(start).toMatchObject({ aheadMs: 180_000, open: TIMEFRAMES, found: ['5m', '15m', '1h', '24h'] });
    const { shiftMs } = presentStart(windows, { fromMs: startMs, toMs: startMs + 900_000 }, at('01:07:00'));
    expect([...misplacedWindows(windows, shiftMs).keys()]).toEqual(['1h', '4h', '24h']);
  });

  test('A rebased replay of several timeframes waits for the next window if it would start near the end of the recording.', () => {
    // As the simulated markets: 5m only in the last quarter of an hour of 15m.
    const startMs = Date.parse('2026-01-08T10:00:00Z');
    const short = venueWindows(['5m'], startMs + 1_500_000, startMs + 2_400_000);
    const long = venueWindows(['15m'], startMs, startMs + 2_700_000);
    const windows = [...long, ...short].map((window) => ({ ...window, firstMs: window.startMs + 353 }));
    const span = { fromMs: startMs, toMs: startMs + 2_700_000 };
    for (const [present, start, wait] of [
      ['00:08:37', '10:25:00', 83_000],
      ['00:02:30', '10:25:00', 450_000],
      ['00:11:00', '10:26:00', undefined],
      ['00:00:01', '10:30:01', undefined],
    ] as const) {
      const found = presentStart(windows, span, at(present));
      expect([present, new Date(found.instantMs).toISOString().slice(11, 19), found.waitMs]).toEqual([
        present,
        start,
        wait,
      ]);
      expect(found.instantMs + found.shiftMs).toBe(at(present) + (wait ?? 0));
      expect(misplacedWindows(windows, found.shiftMs)).toEqual(new Map());
    }
    // A window that began a second ago is not left out.
    for (const [present, instantMs, waitMs] of [
      ['00:09:59', startMs + 1_500_000, 1000],
      ['00:10:01', startMs + 1_501_000, 0],
      ['00:10:02', startMs + 1_800_000, 298_000],
    ] as const) {
      expect([present, windowBeginning(windows, span, at(present))]).toMatchObject([present, { instantMs, waitMs }]);
    }
    expect(windowBeginning(windows, { fromMs: startMs + 2_100_001, toMs: span.toMs }, at('00:10:00'))).toBeUndefined();
    // A span that is over when the present is so late in a window waits for the next one, of 15m too.
    const cut = { fromMs: startMs + 1_500_000, toMs: startMs + 1_501_000 };
    expect(windowBeginning(windows, cut, at('00:10:01'))).toMatchObject({ instantMs: cut.toMs, waitMs: 0 });
    expect(windowBeginning(windows, cut, at('00:10:01') + 1)).toMatchObject({ instantMs: cut.fromMs, waitMs: 898_999 });
    // One timeframe never waits, and a long recording has enough left.
    expect(presentStart(short, span, at('00:08:37')).waitMs).toBeUndefined();
    const hours = venueWindows(['5m', '15m'], startMs, startMs + 6 * HOUR_MS);
    expect(presentStart(hours, { ...span, toMs: startMs + 6 * HOUR_MS }, at('00:08:37'))).toMatchObject({
      instantMs: startMs + 517_000,
    });
  });

  test('windows that were recorded off the venue’s grid are moved onto it', () => {
    const off = one.map((window) => ({ ...window, startMs: window.startMs + 61_500, endMs: window.endMs + 61_500 }));
    const { instantMs, shiftMs } = presentStart(off, { fromMs, toMs: fromMs + 600_000 }, at('10:31:00'));
    expect([instantMs, shiftMs]).toEqual([fromMs + 121_500, at('10:31:00') - fromMs - 121_500]);
    expect(presentSlugs(off, shiftMs).get(1)).toBe(botSlug('btc', '5m', at('10:31:00')));
  });

  test('the start of the replay does not depend on the records after it', () => {
    const windows = venueWindows(['5m', '15m'], fromMs, fromMs + DAY_MS);
    const cut = windows.map((window) =>
      window.startMs > fromMs + 900_000 ? { ...window, firstMs: Infinity } : window,
    );
    const span = { fromMs, toMs: fromMs + DAY_MS };
    for (const present of PRESENT) {
      expect(presentStart(cut, span, Date.parse(present))).toEqual(presentStart(windows, span, Date.parse(present)));
    }
  });
});

describe('slugs of the present', () => {
  test('No two moved slugs are equal: the market that was listed first has the slug, later ones -2, -3 and so on.', () => {
    const startMs = Date.parse('2026-04-16T07:10:00Z');
    const [window] = venueWindows(['5m'], startMs, startMs + 1) as [Window];
    const listed = (key: number, listedMs: number, conditionId: string) => ({ ...window, key, listedMs, conditionId });
    const first = listed(1, startMs - 10, '0x8');
    const second = listed(2, startMs - 10, '0x7');
    const third = listed(3, startMs - 20, '0x9');
    const slug = 'btc-updown-5m-1776323700';
    expect(presentSlugs([third], 300_000)).toEqual(new Map([[3, slug]]));
    expect(presentSlugs([second, third], 300_000)).toEqual(
      new Map([
        [3, slug],
        [2, `${slug}-2`],
      ]),
    );
    expect(presentSlugs([first, second, third], 300_000)).toEqual(
      new Map([
        [3, slug],
        [2, `${slug}-2`],
        [1, `${slug}-3`],
      ]),
    );
  });

  test('of the two hours that have one slug when the clocks go back, the second has another one', () => {
    const startMs = Date.parse('2026-11-01T05:00:00Z');
    const windows = venueWindows(['1h'], startMs, startMs + 2 * HOUR_MS);
    expect([...presentSlugs(windows, 0).values()]).toEqual([
      'bitcoin-up-or-down-november-1-2026-1am-et',
      'bitcoin-up-or-down-november-1-2026-1am-et-2',
    ]);
  });
});
