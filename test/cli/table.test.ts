import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Column, table } from '../../src/cli/table.ts';

const on = (columns: number, outHasColour = false) => ({
  outIsTerminal: true,
  outColumns: () => columns,
  outHasColour,
});
const PIPE = { outIsTerminal: false, outColumns: () => 10, outHasColour: false };
type Shape = string | Pick<Column<never>, 'heading' | 'cut'>;
/** Columns of rows that are lists, in their order. */
const inOrder = (...shapes: readonly Shape[]) =>
  shapes.map((shape, index): Column<readonly string[]> => {
    const cell = (row: readonly string[]) => row[index];
    return typeof shape === 'string' ? { heading: shape, cell } : { ...shape, cell };
  });
const COLUMNS = inOrder('ID', { heading: 'PATH', cut: 'front' }, 'EMPTY', { heading: 'NOTE', cut: 'end' });
const ROWS = [
  ['id_1', 'recordings/monday/btc.ndjson', '', 'a sentence about it'],
  ['id_22', 'x', '', ''],
];

describe('a table', () => {
  test('is whole in a pipe, and where it fits', () => {
    const whole = [
      'ID     PATH                          EMPTY  NOTE',
      'id_1   recordings/monday/btc.ndjson         a sentence about it',
      'id_22  x',
      '',
    ].join('\n');
    expect(table(PIPE, COLUMNS, ROWS)).toBe(whole);
    expect(table(on(63), COLUMNS, ROWS)).toBe(whole);
  });

  test('without rows has its headings, also where they are too wide', () => {
    expect(table(on(5), COLUMNS, [])).toBe('ID  PATH  EMPTY  NOTE\n');
  });

  test('first loses columns without a value, then the cells of the widest columns are cut', () => {
    expect(table(on(62), COLUMNS, ROWS)).toBe(
      [
        'ID     PATH                          NOTE',
        'id_1   recordings/monday/btc.ndjson  a sentence about it',
        'id_22  x',
        '',
      ].join('\n'),
    );
    expect(table(on(40), COLUMNS, ROWS)).toBe(
      ['ID     PATH             NOTE', 'id_1   …day/btc.ndjson  a sentence abou…', 'id_22  x', ''].join('\n'),
    );
  });

  test('then shows instants up to their minute, and has no column of zeros', () => {
    const cells = [['a', '2026-01-08T10:31:40.479Z', '0']];
    const columns = inOrder('ID', 'TIME', 'COUNT');
    expect(table(on(35), columns, cells)).toContain('a   2026-01-08T10:31:40.479Z  0');
    expect(table(on(34), columns, cells)).toBe('ID  TIME\na   2026-01-08T10:31:40.479Z\n');
    expect(table(on(27), columns, cells)).toBe('ID  TIME\na   2026-01-08 10:31Z\n');
    expect(table(on(20), columns, cells)).toBe('ID     a\nTIME   2026-01-08T10:31:40.479Z\nCOUNT  0\n');
  });

  test('A table that is wider than its terminal becomes a block for each row, and no id is cut.', () => {
    expect(table(on(20), COLUMNS, ROWS)).toBe(
      [
        'ID    id_1',
        'PATH  recordings/monday/btc.ndjson',
        'NOTE  a sentence',
        '      about it',
        '',
        'ID    id_22',
        'PATH  x',
        '',
      ].join('\n'),
    );
  });

  test('has bold headings where colours are shown', () => {
    expect(table(on(80, true), inOrder('A', 'B'), [['1', '2']])).toBe('\u001b[1mA  B\u001b[22m\n1  2\n');
  });

  test('shows control characters of a cell as escapes', () => {
    expect(table(PIPE, inOrder('A'), [['x\u001b[2Jy\n']])).toBe('A\nx\\u{1b}[2Jy\\u{a}\n');
  });

  test('is never wider than the terminal, except for a word that is', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '板', '…'), maxLength: 40 });
    const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(rows, fc.integer({ min: 20, max: 130 }), (cells, columns) => {
        const shapes = inOrder('ID', { heading: 'A', cut: 'end' }, { heading: 'B', cut: 'front' });
        const text = table(on(columns), shapes, cells);
        for (const line of text.split('\n')) {
          const word = Math.max(...line.split(/ +/).map((each) => Bun.stringWidth(each)));
          expect(Bun.stringWidth(line)).toBeLessThanOrEqual(Math.max(columns, word + 'ID'.length + 2));
        }
      }),
    );
  });
});
