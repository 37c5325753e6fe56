import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { renderToString } from 'preact-render-to-string';
import type { Snapshot } from '../../../src/client/segment-reader.ts';
import { Ladder } from '../../../src/web/browser/view/ladder.tsx';
import { type ReadMarket, recordedSpans } from '../../../src/web/browser/view/market-reader.ts';
import { unknownText } from '../../../src/web/browser/view/market-texts.ts';
import { Recording } from '../../../src/web/browser/view/recording.ts';
import { searchOf, viewLinkOf } from '../../../src/web/browser/view/view-link.ts';
import { ViewState } from '../../../src/web/browser/view/view-state.ts';
import { plainText } from '../page-content.ts';

const START_MS = Date.UTC(2026, 3, 21, 21, 50);
const iso = (ms: number) => new Date(START_MS + ms).toISOString();

/** A market of five minutes with books of up from `first` to `last`, in milliseconds after its start. */
function recorded(first?: number, last?: number): ReadMarket {
  const [from, to] = [first, last].map((ms) => (ms === undefined ? null : iso(ms)));
  const outcomes = [
    { outcome: 'up', first: from, last: to },
    { outcome: 'down', first: null, last: null },
  ];
  return { market: { startTime: iso(0), endTime: iso(300_000) }, coverage: { outcomes, gaps: [] } } as never;
}

describe('The first view', () => {
  const WHOLE = [0, 300_001];
  const shown = (read: ReadMarket, search = '', isComplete = true) => {
    const { time } = new ViewState(viewLinkOf(search), recordedSpans(read, isComplete));
    return [time.value.from - START_MS, time.value.to - START_MS];
  };

  test.each([
    ['10 seconds', 214_000, 224_000, [213_500, 224_501]],
    ['one book', 214_000, 214_000, [214_000, 214_040]],
    ['what was recorded since the day before', -86_400_000, 60_000, [-3000, 63_001]],
    ['a little less than half', 0, 149_999, [0, 165_000]],
    ['half', 0, 150_000, WHOLE],
    ['nothing', undefined, undefined, WHOLE],
  ])('of a market with %s shows what is recorded of it', (_, first, last, span) => {
    expect(shown(recorded(first, last))).toEqual(span);
  });

  test('is the whole window while more may be recorded, and in links to an instant, as it always was', () => {
    expect(shown(recorded(1000, 9000), '', false)).toEqual(WHOLE);
    expect(shown(recorded(1000, 9000), `?at=${iso(2000)}`)).toEqual(WHOLE);
    expect(shown(recorded(1000, 9000), `?from=${iso(5)}&to=${iso(99)}`)).toEqual([5, 100]);
  });

  test('is at the last book while more is awaited, so an open market opens at now; otherwise in the middle of its books, where they are full', () => {
    const opened = [true, false].map((isComplete) => recordedSpans(recorded(1000, 9000), isComplete).firstMs);
    expect(opened).toEqual([START_MS + 5000, START_MS + 9000]);
    expect(recordedSpans(recorded(-86_400_000, 60_000), true).firstMs).toBe(START_MS + 30_000);
    expect(recordedSpans(recorded(), false).firstMs).toBe(START_MS);
    expect(recordedSpans(recorded(), true).firstMs).toBe(START_MS + 150_000);
  });

  test.each([
    [[[1000, 5000]], 45_500],
    [
      [
        [40_000, 46_000],
        [46_000, 50_000],
        [60_000, 70_000],
      ],
      50_000,
    ],
    [[[40_000, 95_000]], 1000],
  ])(
    'with gaps at %j is %d ms after the start: after the gap that the middle is in, if books follow it',
    (times, ms) => {
      const read = recorded(1000, 90_000);
      const gaps = times.map(([from, to]) => ({ from: iso(from!), to: iso(to!) }));
      const { firstMs } = recordedSpans({ ...read, coverage: { ...read.coverage!, gaps: gaps as never } }, true);
      expect(firstMs).toBe(START_MS + ms);
    },
  );

  test.each([
    [[10, 1], [9.5, 7], 'up'],
    [[9.5, 7], [10, 1], 'down'],
    [[10, 4], [10, 5], 'down'],
    [[10, 5], [10, 5], 'up'],
    [[0, 0], [0, 3], 'down'],
  ] as const)('with up recorded for %j seconds and books, and down for %j, is of %s', (up, down, outcome) => {
    const outcomes = Object.entries({ up, down }).map(([name, [recordedSeconds, count]]) => {
      const [first, last] = count === 0 ? [null, null] : [iso(0), iso(1000)];
      return { outcome: name, recordedSeconds, count, first, last };
    });
    const spans = recordedSpans({ ...recorded(), coverage: { outcomes, gaps: [] } as never }, true);
    expect(spans.outcome).toBe(outcome);
    const state = new ViewState(viewLinkOf(''), spans);
    expect([state.outcome.value, searchOf({ ...state.link, atMs: undefined, time: undefined })]).toEqual([outcome, '']);
    const other = outcome === 'up' ? 'down' : 'up';
    expect(
      searchOf({ ...new ViewState(viewLinkOf(`?outcome=${other}`), spans).link, atMs: undefined, time: undefined }),
    ).toBe(`?outcome=${other}`);
  });

  test('has a link that leads back to it, and a button that leads to the whole window', () => {
    const spans = recordedSpans(recorded(214_000, 224_000), true);
    const state = new ViewState(viewLinkOf(''), spans);
    expect(new ViewState(viewLinkOf(searchOf(state.link)), spans).time.value).toEqual(state.time.value);
    expect(state.isWhole.value).toBe(false);
    state.showWhole();
    expect([state.isWhole.value, state.time.value.from, state.time.value.to]).toEqual([
      true,
      START_MS,
      START_MS + 300_001,
    ]);
    expect(new ViewState(viewLinkOf(searchOf(state.link)), spans).time.value).toEqual(state.time.value);
  });

  test.each([
    ['its start: the page only opened in the middle', '', 0, 213_500],
    ['the instant of its link', `?at=${iso(219_000)}`, 0, 219_000],
    ['where somebody moved it', '', 1000, 220_000],
    ['the start of the market: it is at the end', `?at=${iso(300_000)}`, 0, 0],
  ])('is played from %s', (_, search, byMs, ms) => {
    const state = new ViewState(viewLinkOf(search), recordedSpans(recorded(214_000, 224_000), true));
    if (byMs > 0) state.scrubTo(state.atMs.value + byMs);
    expect(state.playMs).toBe(START_MS + ms);
  });
});

describe('The ladder', () => {
  const book = (ms: number, bids: Snapshot['bids'], asks: Snapshot['asks'] = []): Snapshot =>
    ({ id: '1', timestamp: iso(ms), outcome: 'up', bids, asks }) as never;
  const levels = (...prices: number[]) => prices.map((price) => ({ price, size: 1 }));

  test.each([
    [[0.4, 0.39], [0.5], ['0.50', '0.40', '0.39']],
    [[0.4, 0.399], [0.96], ['0.960', '0.400', '0.399']],
    [[0.5], [1], ['1.0', '0.5']],
    [[0.1], [0.100000000001], ['0.100000000001', '0.100000000000']],
  ])('writes the prices %j and %j with the same number of decimals, none of them rounded', (bids, asks, texts) => {
    const snapshot = book(0, levels(...bids), levels(...asks));
    const html = renderToString(
      <Ladder outcome="up" snapshot={snapshot} unknown={undefined} own={[]} depth={10} startMs={START_MS} />,
    );
    const prices = [...html.matchAll(/<th scope="row">([^<]*)</g)].map(([, price]) => price!);
    expect(prices).toEqual(texts);
    expect(prices.map(Number).toSorted()).toEqual([...bids, ...asks].toSorted());
  });

  test.each([
    [[1279968.67, 19.1], [8], ['1,279,968.67', '19.10', '8.00']],
    [[10], [622], ['10', '622']],
    [[0.000001], [], ['0.000001']],
  ])('writes the sizes %j and %j with the same number of decimals, none of them rounded', (bids, asks, texts) => {
    const side = (sizes: number[], first: number, step: number) =>
      sizes.map((size, nth) => ({ price: first + nth * step, size }));
    const snapshot = book(0, side(bids, 0.5, -0.01), side(asks, 0.6, 0.01));
    const html = renderToString(
      <Ladder outcome="up" snapshot={snapshot} unknown={undefined} own={[]} depth={10} startMs={START_MS} />,
    );
    const sizes = [...html.matchAll(/<td class="number">([^<]*)</g)].map(([, size]) => size!);
    expect(sizes.toSorted()).toEqual(texts.toSorted());
    const sums = [...html.matchAll(/<td class="number sum"[^>]*>([^<]*)</g)].map(([, sum]) => sum!.split('.')[1] ?? '');
    expect(new Set(sums.map(({ length }) => length))).toEqual(new Set([texts[0]!.split('.')[1]?.length ?? 0]));
  });

  test.each([
    [0, 'Up: no book yet, the first one is of 21:51:00.000.'],
    [60_000, undefined],
    [69_999, undefined],
    [70_000, 'Up: not known since a gap at 21:51:10.000.'],
    [89_999, 'Up: not known since a gap at 21:51:10.000.'],
    [90_000, undefined],
    [90_001, 'Up: nothing is recorded later.'],
  ])('%d ms after the start says %p', (atMs, text) => {
    const { coverage } = recorded(60_000, 90_000);
    const gaps = [{ from: iso(70_000), to: iso(80_000) }] as never;
    const snapshot = [60_000, 90_000].findLast((ms) => ms <= atMs);
    const shown = snapshot === undefined ? undefined : book(snapshot, levels(0.5));
    const unknown = unknownText({ ...coverage!, gaps }, 'up', START_MS + atMs, shown, false);
    const html = renderToString(
      <Ladder outcome="up" snapshot={shown} unknown={unknown} own={[]} depth={10} startMs={START_MS} />,
    );
    if (text === undefined) expect(unknown).toBeUndefined();
    // The reason is before the last book.
    else expect(plainText(html)).toStartWith(text);
    expect(html).not.toContain('empty book');
  });

  test('does not say that nothing is recorded later while the market is open: later books are still to come', () => {
    const { coverage } = recorded(60_000, 90_000);
    const after = (isOpen: boolean) => unknownText(coverage!, 'up', START_MS + 90_001, book(90_000, []), isOpen);
    expect([true, false].map(after)).toEqual([undefined, 'nothing is recorded later.']);
  });

  test('says of a book without orders that none were recorded, and of a book of another day its date', () => {
    const html = renderToString(
      <Ladder
        outcome="up"
        snapshot={book(-86_400_000, [])}
        unknown={undefined}
        own={[]}
        depth={10}
        startMs={START_MS}
      />,
    );
    expect(plainText(html)).toContain('no orders recorded');
    expect(plainText(html)).toContain('book of 20 Apr 21:50:00.000');
  });

  test('says how many levels are recorded on a side that has fewer than are shown, at its far end', () => {
    const snapshot = book(0, levels(0.4, 0.39), levels(0.5));
    const textOf = (depth: number) => {
      const shown = { outcome: 'up', snapshot, unknown: undefined, own: [], startMs: START_MS, depth };
      return plainText(renderToString(<Ladder {...shown} />));
    };
    expect(textOf(10)).toMatch(/1 level recorded 0\.50.*0\.39.*2 levels recorded$/);
    expect(textOf(2)).toMatch(/1 level recorded 0\.50/);
    expect(textOf(1)).not.toContain('recorded');
  });

  test('says that a book is not known exactly where the heat map shows none', () => {
    const times = fc.uniqueArray(fc.nat({ max: 30 }), { minLength: 1, maxLength: 8 });
    const gaps = fc.array(fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 6 })), { maxLength: 4 });
    fc.assert(
      fc.property(times, gaps, fc.nat({ max: 35 }), (unordered, drawn, at) => {
        const snapshots = unordered.toSorted((a, b) => a - b).map((ms) => book(ms, levels(0.5)));
        const ranges = drawn
          .toSorted(([a], [b]) => a - b)
          .map(([from, length]) => ({ fromMs: START_MS + from, toMs: START_MS + from + length }));
        const recording = new Recording(snapshots, ranges);
        const atMs = START_MS + at;
        const window = { outcome: 'up', fromMs: atMs, toMs: atMs, columns: 1 } as const;
        const { coverage } = recorded(Math.min(...unordered), Math.max(...unordered));
        const listed = ranges.map(({ fromMs, toMs }) => ({ from: iso(fromMs - START_MS), to: iso(toMs - START_MS) }));
        const shown = recording.before('up', atMs);
        const text = unknownText({ ...coverage!, gaps: listed as never }, 'up', atMs, shown, false);
        expect(text === undefined).toBe(recording.heatMap(window).columns[0]!.book !== undefined);
      }),
      { numRuns: 1000 },
    );
  });
});
