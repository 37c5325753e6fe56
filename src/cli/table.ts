import { cut, cutFront } from './status-line.ts';
import { printable, styled, type Terminal } from './terminal.ts';

/** A column: its heading, and its cell in each row. */
export interface Column<Row> {
  readonly heading: string;
  /** Null and undefined are empty cells. */
  readonly cell: (row: Row) => string | number | null | undefined;
  /** Cells may lose their end or their beginning to fit: sentences and paths, never ids. */
  readonly cut?: 'end' | 'front';
}
type Row = readonly string[];
type Style = (text: string) => string;

const SPACE = '  ';
const CUT_MARK = '…';
/** A column is not cut below this width. */
const CUT_COLUMNS_MIN = 12;

/**
 * Rows under their headings, each column as wide as its widest cell. Where a terminal is too narrow for that, columns with no value
 * but 0 are left out, then instants end with their minute, then cells are cut, and if that is not enough each row becomes a block
 * with a line per cell, as psql does. Elsewhere tables are always whole.
 */
export function table<Listed>(
  { outIsTerminal, outColumns, outHasColour }: Pick<Terminal, 'outIsTerminal' | 'outColumns' | 'outHasColour'>,
  columns: readonly Column<Listed>[],
  rows: readonly Listed[],
): string {
  const whole = { columns, rows: rows.map((row) => columns.map(({ cell }) => printable(String(cell(row) ?? '')))) };
  const limit = outIsTerminal && rows.length > 0 ? outColumns() : Infinity;
  const short = [withoutEmpty, withoutSeconds].reduce<Cells>(
    (cells, shortened) => (widthOf(widthsOf(cells)) <= limit ? cells : shortened(cells)),
    whole,
  );
  const widths = cutWidths(short, limit);
  const bold = (text: string) => styled(outHasColour, 'bold', text);
  return widths === undefined ? blocks(whole, limit, bold) : lines(short, widths, bold);
}

interface Cells {
  readonly columns: readonly Pick<Column<never>, 'heading' | 'cut'>[];
  readonly rows: readonly Row[];
}

function widthsOf({ columns, rows }: Cells): number[] {
  return columns.map(({ heading }, index) =>
    rows.reduce((width, row) => Math.max(width, Bun.stringWidth(row[index]!)), Bun.stringWidth(heading)),
  );
}

function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, (widths.length - 1) * SPACE.length);
}

const INSTANT = /(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z/g;

function withoutSeconds({ columns, rows }: Cells): Cells {
  return { columns, rows: rows.map((row) => row.map((cell) => cell.replace(INSTANT, '$1 $2Z'))) };
}

function withoutEmpty({ columns, rows }: Cells): Cells {
  const hasValue = columns.map((_, index) => rows.some((row) => row[index] !== '' && row[index] !== '0'));
  const kept = <T>(items: readonly T[]) => items.filter((_, index) => hasValue[index]);
  return { columns: kept(columns), rows: rows.map(kept) };
}

/** The widths with which a table fits, of which the widest are cut first; undefined if none do. */
function cutWidths(cells: Cells, limit: number): number[] | undefined {
  const widths = widthsOf(cells);
  const isCut = cells.columns.map((column) => column.cut !== undefined);
  for (let over = widthOf(widths) - limit; over > 0; over -= 1) {
    const widest = Math.max(...widths.filter((_, index) => isCut[index]));
    if (widest <= CUT_COLUMNS_MIN) return undefined;
    widths[widths.findIndex((width, index) => isCut[index] && width === widest)] = widest - 1;
  }
  return widths;
}

function lines({ columns, rows }: Cells, widths: readonly number[], bold: Style): string {
  const line = (row: Row) =>
    row
      .map((cell, index) => filled(cell, widths[index]!, columns[index]!.cut))
      .join(SPACE)
      .trimEnd();
  return `${[bold(line(columns.map(({ heading }) => heading))), ...rows.map(line)].join('\n')}\n`;
}

/** A cell with exactly this width. */
function filled(cell: string, width: number, side: Column<never>['cut']): string {
  const over = Bun.stringWidth(cell) > width;
  const text = !over
    ? cell
    : side === 'front'
      ? `${CUT_MARK}${cutFront(cell, width - 1)}`
      : `${cut(cell, width - 1)}${CUT_MARK}`;
  return text + ' '.repeat(Math.max(0, width - Bun.stringWidth(text)));
}

/** Each row as a block, without its empty cells. */
function blocks({ columns, rows }: Cells, limit: number, bold: Style): string {
  const headings = columns.map(({ heading }) => heading);
  const shown = headings.filter((_, index) => rows.some((row) => row[index] !== ''));
  const width = Math.max(0, ...shown.map((heading) => Bun.stringWidth(heading)));
  const block = (row: Row) =>
    row.flatMap((cell, index) =>
      cell === ''
        ? []
        : wrapped(cell, limit - width - SPACE.length).map(
            (part, number) => `${bold((number === 0 ? headings[index]! : '').padEnd(width))}${SPACE}${part}`,
          ),
    );
  return rows.map((row) => `${block(row).join('\n')}\n`).join('\n');
}

/** Lines of a text, broken at spaces. A longer word is left to the terminal: a broken id could not be copied. */
function wrapped(text: string, columns: number): string[] {
  const found: string[] = [];
  for (const word of text.split(' ')) {
    const last = found.at(-1);
    if (last !== undefined && Bun.stringWidth(last) + 1 + Bun.stringWidth(word) <= columns) {
      found[found.length - 1] = `${last} ${word}`;
    } else found.push(word);
  }
  return found;
}
