import { countText } from '../domain/count-text.ts';
import type { Report } from '../trading/report.ts';
import { type Column, table } from './table.ts';
import type { Terminal } from './terminal.ts';

/** The maximum number of markets with fills that are listed: those with the largest profits and losses. */
const MARKETS_SHOWN = 20;
const MONEY = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const COUNT = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 });

/** `+12.30`: dollars to look at. */
export function signedMoney(dollars: number): string {
  const text = MONEY.format(dollars);
  return dollars > 0 && text !== '0.00' ? `+${text}` : text.replace(/^-0\.00$/, '0.00');
}

/** `1,234.5`: a count or an amount to look at. */
export function amountText(amount: number): string {
  return COUNT.format(amount);
}

/** The lines of the summary, each with its heading. */
export function summaryRows({
  summary,
}: Pick<Report, 'summary'>): readonly (readonly [heading: string, text: string])[] {
  const { markets, marketsWithFills, marketsWon, marketsLost, orders, refused, filled, fillRate, maker, taker } =
    summary;
  const even = marketsWithFills - marketsWon - marketsLost;
  return [
    ['Profit', `${signedMoney(summary.profit)} dollars, after fees of ${MONEY.format(summary.fees)}`],
    [
      'Markets',
      `${amountText(markets)}: ${marketsWon} won, ${marketsLost} lost${even > 0 ? `, ${even} even` : ''}, ${amountText(markets - marketsWithFills)} without fills`,
    ],
    [
      'Orders',
      `${amountText(orders)}: ${amountText(refused)} refused, ${amountText(filled)} filled in part or in full (${amountText(fillRate * 100)} % of those accepted)`,
    ],
    [
      'Fills',
      `${amountText(summary.fills)}: ${amountText(summary.shares)} shares for ${MONEY.format(summary.dollars)} dollars`,
    ],
    ['Maker', roleText(maker)],
    ['Taker', roleText(taker)],
    ['Drawdown', `${MONEY.format(summary.maxDrawdown)} dollars at most`],
    ['Exposure', `${MONEY.format(summary.maxSpent)} dollars spent at once at most`],
  ];
}

function roleText({ fills, shares, slippage }: Report['summary']['maker']): string {
  if (fills === 0) return 'no fills';
  const better = slippage < 0 ? 'better' : 'worse';
  return `${countText(fills, 'fill')} of ${amountText(shares)} shares, ${MONEY.format(Math.abs(slippage))} dollars ${better} than the midpoint`;
}

const QUEUE_COLUMNS: readonly Column<Report['queues'][number]>[] = [
  { heading: 'QUEUE', cell: ({ queue }) => queue },
  { heading: 'PROFIT', cell: ({ profit }) => signedMoney(profit) },
  { heading: 'FEES', cell: ({ fees }) => MONEY.format(fees) },
  { heading: 'FILLS', cell: ({ fills }) => fills },
  { heading: 'SHARES', cell: ({ shares }) => amountText(shares) },
];

const MARKET_COLUMNS: readonly Column<Report['markets'][number]>[] = [
  { heading: 'MARKET', cell: ({ slug, conditionId }) => slug || conditionId },
  { heading: 'PROFIT', cell: ({ profit }) => signedMoney(profit) },
  { heading: 'FEES', cell: ({ fees }) => MONEY.format(fees) },
  { heading: 'ORDERS', cell: ({ orders }) => orders },
  { heading: 'FILLS', cell: ({ fills }) => fills },
  { heading: 'SHARES', cell: ({ shares }) => amountText(shares) },
];

/** The markets with fills in order, or the ones with the largest profits and losses. */
export function notableMarkets(
  { markets }: Pick<Report, 'markets'>,
  shown: number,
): readonly Report['markets'][number][] {
  const traded = markets.filter(({ fills }) => fills > 0);
  if (traded.length <= shown) return traded;
  const sorted = traded.toSorted((a, b) => b.profit - a.profit);
  return [...sorted.slice(0, shown / 2), ...sorted.slice(-shown / 2)];
}

/** The report for people. */
export function backtestText(terminal: Terminal, report: Report): string {
  const { name, from, to, settings, refusals, queues, assumptions } = report;
  const shown = notableMarkets(report, MARKETS_SHOWN);
  const left = report.summary.marketsWithFills - shown.length;
  return [
    `${name} from ${from} to ${to}, ${settings.latencyMs} ms latency, queue ${settings.queue}\n\n`,
    summaryRows(report)
      .map(([heading, text]) => `${heading.padEnd(10)}${text}\n`)
      .join(''),
    refusals.length === 0 ? '' : `\nRefused\n${refusals.map(({ text, count }) => `- ${count}: ${text}\n`).join('')}`,
    queues.length < 2 ? '' : `\n${table(terminal, QUEUE_COLUMNS, queues)}`,
    shown.length === 0 ? '' : `\n${table(terminal, MARKET_COLUMNS, shown)}`,
    left > 0 ? `(${countText(left, 'market')} between these)\n` : '',
    `\nThis result rests on\n${assumptions.map((sentence) => `- ${sentence}\n`).join('')}`,
  ].join('');
}
