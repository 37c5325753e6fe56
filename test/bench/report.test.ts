import { expect, test } from 'bun:test';
import { ratioGoal, table, verdict } from './report.ts';

test('a ratio equal to its goal meets it, and a ratio without the other figure is not measured', () => {
  expect([10, 9.99, undefined].map((measured) => ratioGoal('pages', measured, 10).met)).toEqual([
    true,
    false,
    undefined,
  ]);
  expect(ratioGoal('pages', 0.596, 0.6)).toEqual({
    figure: 'pages',
    required: '≥ 0.60 ×',
    measured: '0.59 ×',
    met: false,
  });
});

test('the verdict names every goal once', () => {
  const goals = [ratioGoal('a', 12, 10), ratioGoal('b', 2, 10), ratioGoal('c', undefined, 10), ratioGoal('d', 40, 10)];
  expect(verdict(goals)).toBe(
    'Met, 2 of 4: a (12.0 ×); d (40.0 ×).\n\nNot met, 1 of 4: b (2.00 ×).\n\nNot measured, 1 of 4: c.',
  );
});

test('the rows of a table have equal column widths', () => {
  expect(
    table(
      ['what', 'µs'],
      [
        ['a page', '5'],
        ['b', '10.25'],
      ],
    ),
  ).toBe(['| what   |    µs |', '| ------ | ----: |', '| a page |     5 |', '| b      | 10.25 |'].join('\n'));
});
