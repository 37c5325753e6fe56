import { countText, nounText } from '../domain/count-text.ts';
import type { Report, ReportedMarket } from '../trading/report.ts';
import { type Column, table } from './table.ts';
import type { Terminal } from './terminal.ts';

/** A part of a report, for the terminal and for the page: facts by name, rows of figures, or sentences. */
export interface ReportPart {
  readonly heading: string;
  readonly facts?: Readonly<Record<string, string>>;
  readonly figures?: readonly Figures[];
  /** The heading of the column with the names of the figures. */
  readonly by?: string;
  readonly sentences?: readonly string[];
  readonly note?: string | undefined;
}

/** The figures of a market, or of a run with one assumption about queues. */
type Figures = { readonly name: string } & Pick<ReportedMarket, 'profit' | 'fees' | 'fills' | 'shares'>;

/** The maximum number of markets with fills that are listed: those with the largest profits and losses. */
const MARKETS_SHOWN = 20;
const MONEY = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const AMOUNT = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 });
const QUEUES = { behind: 'behind (all shares ahead)', mid: 'mid (half of them)', front: 'front (none)' } as const;

/** `+12.30`: dollars to look at. */
export function signedMoney(dollars: number): string {
  const text = MONEY.format(dollars);
  return dollars > 0 && text !== '0.00' ? `+${text}` : text.replace(/^-0\.00$/, '0.00');
}

export const FIGURES: readonly Column<Figures>[] = [
  { heading: 'PROFIT', cell: ({ profit }) => signedMoney(profit) },
  { heading: 'FEES', cell: ({ fees }) => MONEY.format(fees) },
  { heading: 'FILLS', cell: ({ fills }) => AMOUNT.format(fills) },
  { heading: 'SHARES', cell: ({ shares }) => AMOUNT.format(shares) },
];

/** `late.ts from … to …, 40 ms latency, queue behind`, without the name. */
export function settingsText({ from, to, settings: { latencyMs, queue } }: Report): string {
  return `from ${from} to ${to}, ${latencyMs} ms latency, queue ${queue}`;
}

/** The parts of a report in their order, without those that are empty. */
export function reportParts(report: Report): readonly ReportPart[] {
  const { summary, queues, refusals, assumptions } = report;
  const shown = notableMarkets(report);
  const left = summary.marketsWithFills - shown.length;
  const parts: readonly ReportPart[] = [
    { heading: 'Summary', facts: summaryFacts(summary) },
    {
      heading: 'By queue',
      by: 'queue',
      figures: queues.length < 2 ? [] : queues.map(({ queue, ...figures }) => ({ name: QUEUES[queue], ...figures })),
    },
    {
      heading: 'By market',
      by: 'market',
      figures: shown.map(({ slug, conditionId, ...figures }) => ({ name: slug || conditionId, ...figures })),
      note: left > 0 ? `(${countText(left, 'market')} between these)` : undefined,
    },
    { heading: 'Refused orders', sentences: refusals.map(({ text, count }) => `${AMOUNT.format(count)}: ${text}`) },
    { heading: 'This result rests on', sentences: assumptions },
  ];
  return parts.filter(
    ({ facts, figures, sentences }) => facts !== undefined || (figures ?? sentences ?? []).length > 0,
  );
}

/** The report for people at a terminal. */
export function backtestText(terminal: Terminal, report: Report): string {
  const parts = reportParts(report).map(({ heading, facts, figures, by = '', sentences = [], note }) => {
    if (facts !== undefined) return Object.entries(facts).map(([name, text]) => `${name.padEnd(10)}${text}\n`);
    const name = { heading: by.toUpperCase(), cell: (row: Figures) => row.name };
    if (figures !== undefined)
      return [table(terminal, [name, ...FIGURES], figures), note === undefined ? '' : `${note}\n`];
    return [`${heading}\n`, ...sentences.map((sentence) => `- ${sentence}\n`)];
  });
  return [[`${report.name} ${settingsText(report)}\n`], ...parts].map((lines) => lines.join('')).join('\n');
}

function summaryFacts(summary: Report['summary']): Readonly<Record<string, string>> {
  const { marketsWithFills, marketsWon, marketsLost } = summary;
  const even = marketsWithFills - marketsWon - marketsLost;
  const [markets, untraded] = [summary.markets, summary.markets - marketsWithFills].map(AMOUNT.format);
  const [orders, refused, filled] = [summary.orders, summary.refused, summary.filled].map(AMOUNT.format);
  const [fills, shares, rate] = [summary.fills, summary.shares, summary.fillRate * 100].map(AMOUNT.format);
  const won = `${marketsWon} won, ${marketsLost} lost${even > 0 ? `, ${even} even` : ''}`;
  return {
    Profit: `${signedMoney(summary.profit)} dollars, after fees of ${MONEY.format(summary.fees)}`,
    Markets: `${markets}: ${won}, ${untraded} without fills`,
    Orders: `${orders}: ${refused} refused, ${filled} filled in part or in full (${rate} % of those accepted)`,
    Fills: `${fills}: ${shares} shares for ${MONEY.format(summary.dollars)} dollars`,
    Maker: roleText(summary.maker),
    Taker: roleText(summary.taker),
    Drawdown: `${MONEY.format(summary.maxDrawdown)} dollars at most`,
    Exposure: `${MONEY.format(summary.maxSpent)} dollars spent at once at most`,
  };
}

function roleText({ fills, shares, slippage }: Report['summary']['maker']): string {
  if (fills === 0) return 'no fills';
  const worse = `${MONEY.format(Math.abs(slippage))} dollars ${slippage < 0 ? 'better' : 'worse'}`;
  return `${AMOUNT.format(fills)} ${nounText(fills, 'fill')} of ${AMOUNT.format(shares)} shares, ${worse} than the midpoint`;
}

/** The markets with fills in order, or the ones with the largest profits and losses. */
function notableMarkets({ markets }: Report): readonly ReportedMarket[] {
  const traded = markets.filter(({ fills }) => fills > 0);
  if (traded.length <= MARKETS_SHOWN) return traded;
  const sorted = traded.toSorted((a, b) => b.profit - a.profit);
  return [...sorted.slice(0, MARKETS_SHOWN / 2), ...sorted.slice(-MARKETS_SHOWN / 2)];
}
