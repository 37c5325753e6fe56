import { decimalText, runningSums } from '../domain/decimal.ts';
import type { OrderBook } from '../domain/orderbook.ts';
import { midOf, spreadOf, topOfBook } from '../domain/quote.ts';

/** Columns of the longest bar. */
const BAR_COLUMNS = 40;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

interface Row {
  readonly price: string;
  readonly size: string;
  readonly total: string;
  readonly shares: number;
}

/**
 * The best `depth` levels of each side as a ladder, asks above bids, the best ones next to each other. The total is the size of a
 * level and of all better ones, and the bar shows it: together the bars are the depth chart of the book.
 */
export function ladderText(book: OrderBook, depth: number): string {
  const asks = rowsOf(book.askPrices, book.askSizes, depth).reverse();
  const bids = rowsOf(book.bidPrices, book.bidSizes, depth);
  const all = [...asks, ...bids];
  const headings = { price: 'PRICE', size: 'SIZE', total: 'TOTAL' };
  const widthOf = (column: keyof typeof headings) => Math.max(...[headings, ...all].map((row) => row[column].length));
  const widths = { price: widthOf('price'), size: widthOf('size'), total: widthOf('total') };
  const most = Math.max(...all.map(({ shares }) => shares));
  const cells = (row: typeof headings) =>
    `${row.price.padStart(widths.price)}  ${row.size.padStart(widths.size)}  ${row.total.padStart(widths.total)}`;
  const line = (row: Row) => `${cells(row)}  ${barOf(row.shares / most)}`.trimEnd();
  return [cells(headings), ...asks.map(line), betweenText(book), ...bids.map(line)].map((text) => `${text}\n`).join('');
}

function rowsOf(prices: readonly number[], sizes: readonly number[], depth: number): Row[] {
  const totals = runningSums(sizes.slice(0, depth));
  return prices.slice(0, depth).map((price, level) => {
    const shares = totals[level]!;
    return { price: decimalText(price), size: decimalText(sizes[level]!), total: decimalText(shares), shares };
  });
}

function betweenText(book: OrderBook): string {
  const quote = topOfBook(book);
  const [mid, spread] = [midOf(quote), spreadOf(quote)];
  if (mid !== undefined && spread !== undefined) {
    return `-- mid ${decimalText(mid)}, spread ${spread < 0 ? '-' : ''}${decimalText(Math.abs(spread))}${spread <= 0 ? ' (crossed)' : ''}`;
  }
  if (quote.bidPrice === undefined && quote.askPrice === undefined) return '-- no levels';
  return `-- no ${quote.bidPrice === undefined ? 'bids' : 'asks'}`;
}

/** A bar in eighths of a column. */
function barOf(part: number): string {
  const eighths = Math.max(1, Math.round(part * BAR_COLUMNS * EIGHTHS.length));
  return '█'.repeat(Math.floor(eighths / EIGHTHS.length)) + EIGHTHS[eighths % EIGHTHS.length]!;
}
