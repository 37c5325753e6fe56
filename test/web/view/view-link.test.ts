import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { searchOf, type ViewLink, viewLinkOf } from '../../../src/web/browser/view/view-link.ts';

const START_MS = Date.UTC(2026, 0, 8, 10, 30);
const AT_FIRST: ViewLink = {
  outcome: undefined,
  scale: 'log',
  contrast: 50,
  reference: undefined,
  time: undefined,
  prices: undefined,
  atMs: undefined,
};

test('a link has the window, the prices, the instant, the outcome, the scale, the contrast and the source of the reference price', () => {
  const link: ViewLink = {
    outcome: 'both',
    scale: 'sqrt',
    contrast: 70,
    reference: 'binance',
    time: { from: START_MS, to: START_MS + 1000 },
    prices: { from: 0.25, to: 0.5 },
    atMs: START_MS + 10,
  };
  expect(searchOf(link)).toBe(
    '?outcome=both&scale=sqrt&contrast=70&reference=binance&from=2026-01-08T10:30:00.000Z&to=2026-01-08T10:30:00.999Z&low=0.25&high=0.5&at=2026-01-08T10:30:00.010Z',
  );
  expect(viewLinkOf(searchOf(link))).toEqual(link);
  expect(searchOf(AT_FIRST)).toBe('');
});

test('The address of the page of a market has what is shown, never a key, and what it does not understand is left out.', () => {
  const instant = fc.integer({ min: 0, max: 4_102_444_800_000 });
  const price = fc.integer({ min: 0, max: 10_000 }).map((units) => units / 10_000);
  const span = (value: fc.Arbitrary<number>, shortest: number) =>
    fc
      .tuple(value, value)
      .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }))
      .filter(({ from, to }) => to - from >= shortest);
  fc.assert(
    fc.property(
      fc.record({
        outcome: fc.constantFrom('up', 'down', 'both', undefined),
        scale: fc.constantFrom('log', 'sqrt'),
        contrast: fc.integer({ min: 0, max: 100 }),
        reference: fc.option(fc.string({ minLength: 1, maxLength: 40 }), { nil: undefined }),
        time: fc.option(span(instant, 1), { nil: undefined }),
        prices: fc.option(span(price, 0.0001), { nil: undefined }),
        atMs: fc.option(instant, { nil: undefined }),
      }),
      (link) => expect(viewLinkOf(searchOf(link))).toEqual(link),
    ),
  );
});

test.each([
  '?outcome=UP&scale=cubic&at=yesterday',
  '?contrast=101',
  '?reference=',
  `?reference=br_live_${'a'.repeat(40)}`,
  '?contrast=-1',
  '?contrast=5e1',
  '?from=2026-01-08T10:30:00.000Z',
  '?from=2026-01-08T10:30:00.000Z&to=2026-01-08T10:29:00.000Z',
  '?from=2026-02-31T10:30:00.000Z&to=x',
  '?low=0.6&high=0.4',
  '?low=-1&high=2',
  '?key=br_live_secret&low=1e-1&high=0.99999',
])('%s counts as left out', (search) => {
  expect(viewLinkOf(search)).toEqual(AT_FIRST);
});
