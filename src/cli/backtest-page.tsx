import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { parseInstant } from '../domain/instant.ts';
import { complement } from '../domain/mirrored-book.ts';
import { type Outcome, otherOutcome } from '../domain/outcome.ts';
import frame from '../http/pages/frame.css' with { type: 'text' };
import { heatMapSvg, NARROW, type PlotMark, WIDE } from '../http/pages/heat-map-svg.ts';
import type { Archive } from '../store/archive.ts';
import type { Report, ReportedMarket } from '../trading/report.ts';
import { amountText, notableMarkets, signedMoney, summaryRows } from './backtest-text.ts';
import { wholeHeatMap } from './plot.ts';
import { VERSION } from './version.ts';

/** The most markets in the table, and the most with a picture. */
const [MARKETS_SHOWN, PICTURES_MAX] = [60, 3];
const COLUMNS = { wide: 400, narrow: 160 };
const MARKS_MAX = 2000;

const STYLE = `
body { font: var(--text)/1.5 var(--sans); }
main { max-width: 72rem; margin: 0 auto; padding: var(--s5) var(--s4) var(--s7); }
h1 { font-size: var(--text-xl); line-height: 1.2; letter-spacing: -0.02em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: var(--text-l); margin: var(--s6) 0 var(--s3); }
p { margin: 0 0 var(--s3); }
.quiet { color: var(--quiet); font-size: var(--text-s); }
.good { color: var(--good); } .bad { color: var(--bad); }
section, figure { background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow); padding: var(--s4); margin: 0 0 var(--s4); }
.profit { font-size: var(--text-xxl); font-weight: 650; letter-spacing: -0.02em; line-height: 1.1; margin: var(--s4) 0 var(--s1); font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: var(--s4); margin: var(--s5) 0 0; }
dt { color: var(--quiet); font-size: var(--text-s); } dd { margin: 0; }
.chart { position: relative; height: 15rem; margin: var(--s2) 0 var(--s1) 5.5rem; border-left: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.chart.low { height: 7rem; }
.chart svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: visible; }
.chart span { position: absolute; right: calc(100% + var(--s2)); transform: translateY(-50%); white-space: nowrap; }
.times { display: flex; justify-content: space-between; margin-left: 5.5rem; gap: var(--s3); }
.chart path { vector-effect: non-scaling-stroke; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: var(--s2) var(--s3); border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--quiet); font-size: var(--text-s); font-weight: 500; } tr:last-child td { border-bottom: 0; }
th:first-child, td:first-child { text-align: left; }
figcaption { margin-bottom: var(--s3); } figure svg { display: block; width: 100%; height: auto; border-radius: var(--s2); }
.narrow { display: none; }
@media (max-width: 40rem) { .wide { display: none; } .narrow { display: block; } .chart, .times { margin-left: 4.25rem; } th, td { padding: var(--s2); } }
`;

/** The report as one page that loads nothing: the charts are in it. */
export function backtestPage(archive: Archive, report: Report): string {
  const { name, from, to, settings, queues, assumptions, refusals, summary } = report;
  const [[, profit], ...rows] = summaryRows(report) as [[string, string], ...[string, string][]];
  const shown = notableMarkets(report, MARKETS_SHOWN);
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${name} · backtest`}</title>
        <style dangerouslySetInnerHTML={{ __html: `${frame}${STYLE}` }} />
      </head>
      <body>
        <main>
          <h1>{name}</h1>
          <p class="quiet">
            {from} to {to}. {settings.cash} dollars for {settings.cashIsFor}, {settings.latencyMs} ms latency, queue{' '}
            {settings.queue}.
          </p>
          <p class={`profit ${toneOf(summary.profit)}`}>{signedMoney(summary.profit)}</p>
          <p>{profit.replace(/^\S+ /, '')}</p>
          <section>
            <Chart
              title="Profit"
              points={report.equity.map(({ at, profit: y }) => [parseInstant(at)!, y])}
              colour="var(--series-1)"
            />
            <Chart
              title="Drawdown"
              isLow
              points={report.equity.map(({ at, drawdown }) => [parseInstant(at)!, -drawdown])}
              colour="var(--series-3)"
            />
          </section>
          <section>
            <dl style="margin:0">
              {rows.map(([heading, text]) => (
                <div key={heading}>
                  <dt>{heading}</dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </section>
          {queues.length > 1 && (
            <>
              <h2>How the result depends on the queue</h2>
              <Table headings={['Shares ahead of a resting order', 'Profit', 'Fees', 'Fills', 'Shares']}>
                {queues.map(({ queue, profit: own, fees, fills, shares }) => (
                  <tr key={queue}>
                    <td>{QUEUE_TEXTS[queue]}</td>
                    <Money dollars={own} />
                    <td>{fees.toFixed(2)}</td>
                    <td>{amountText(fills)}</td>
                    <td>{amountText(shares)}</td>
                  </tr>
                ))}
              </Table>
            </>
          )}
          <h2>What this rests on</h2>
          <section>
            <ul style="margin:0;padding-left:1.2rem">
              {[
                ...assumptions,
                ...refusals.map(({ text, count }) => `${amountText(count)} orders were refused: ${text}.`),
              ].map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          </section>
          {shown.length > 0 && <h2>Markets</h2>}
          {picturedMarkets(shown).map((market) => (
            <Picture key={market.conditionId} archive={archive} report={report} market={market} />
          ))}
          {shown.length > 0 && (
            <Table headings={['Market', 'Profit', 'Fees', 'Orders', 'Fills', 'Shares']}>
              {shown.map((market) => (
                <tr key={market.conditionId}>
                  <td>{market.slug || market.conditionId}</td>
                  <Money dollars={market.profit} />
                  <td>{market.fees.toFixed(2)}</td>
                  <td>{amountText(market.orders)}</td>
                  <td>{amountText(market.fills)}</td>
                  <td>{amountText(market.shares)}</td>
                </tr>
              ))}
            </Table>
          )}
          {shown.length < summary.marketsWithFills && (
            <p class="quiet">
              These have the largest profits and losses of {summary.marketsWithFills} markets with fills.
            </p>
          )}
          <p class="quiet">
            bookreel {VERSION}. `bookreel backtest --csv` lists every fill with the record that caused it.
          </p>
        </main>
      </body>
    </html>
  );
  return `<!doctype html>\n${renderToString(page)}\n`;
}

const QUEUE_TEXTS = { behind: 'all of them (behind)', mid: 'half of them (mid)', front: 'none (front)' } as const;

function toneOf(dollars: number): string {
  return dollars > 0 ? 'good' : dollars < 0 ? 'bad' : '';
}

function Money({ dollars }: { readonly dollars: number }) {
  return <td class={toneOf(dollars)}>{signedMoney(dollars)}</td>;
}

function Table({ headings, children }: { readonly headings: readonly string[]; readonly children: ComponentChildren }) {
  return (
    <section class="scroll">
      <table>
        <thead>
          <tr>
            {headings.map((heading) => (
              <th key={heading}>{heading}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

interface ChartProps {
  readonly title: string;
  readonly points: readonly (readonly [atMs: number, dollars: number])[];
  readonly colour: string;
  readonly isLow?: boolean;
}

/** A line of steps, filled down to zero. */
function Chart({ title, points, colour, isLow = false }: ChartProps) {
  const values = points.map(([, dollars]) => dollars);
  const [top, bottom] = [Math.max(0, ...values), Math.min(0, ...values)];
  const [firstMs, lastMs] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 0];
  const [width, height] = [1000, 100];
  const x = (ms: number) => ((ms - firstMs) / (lastMs - firstMs || 1)) * width;
  const y = (dollars: number) => (1 - (dollars - bottom) / (top - bottom || 1)) * height;
  const path = points
    .map(
      ([ms, dollars], i) => `${i === 0 ? 'M' : 'H'}${x(ms).toFixed(1)}${i === 0 ? ' ' : 'V'}${y(dollars).toFixed(2)}`,
    )
    .join('');
  // A label as near to that of zero would be on it.
  const labels = [top, bottom].filter((dollars) => Math.abs(y(dollars) - y(0)) > 12);
  return (
    <>
      <strong>{title}</strong>
      <div class={isLow ? 'chart low' : 'chart'}>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${title} over time`}>
          {points.length > 0 && <path d={`${path}V${y(0)}H0z`} fill={colour} opacity="0.14" />}
          <path d={`M0 ${y(0)}H${width}`} stroke="var(--quiet)" stroke-dasharray="3 4" fill="none" />
          <path d={path} fill="none" stroke={colour} stroke-width="2" />
        </svg>
        {[0, ...labels].map((dollars) => (
          <span key={dollars} class="quiet" style={`top:${y(dollars).toFixed(1)}%`}>
            {signedMoney(dollars)}
          </span>
        ))}
      </div>
      <div class="times quiet">
        {[firstMs, lastMs].map((ms, i) => (
          <span key={i === 0 ? 'from' : 'to'}>
            {points.length === 0 ? '' : new Date(ms).toISOString().slice(0, 16).replace('T', ' ')}
          </span>
        ))}
      </div>
    </>
  );
}

/** The market with the largest profit, the one with the largest loss, and the one with the most fills. */
function picturedMarkets(markets: readonly ReportedMarket[]): readonly ReportedMarket[] {
  const best = markets.toSorted((a, b) => b.profit - a.profit);
  const [busiest] = markets.toSorted((a, b) => b.fills - a.fills);
  const chosen = [best[0], best.at(-1), busiest].filter((market) => market !== undefined);
  return [...new Set(chosen)].slice(0, PICTURES_MAX);
}

/** The books of a market with the fills on them. A fill of one outcome is one of the other at the rest of the price, on the other side. */
function Picture({ archive, report, market }: { archive: Archive; report: Report; market: ReportedMarket }) {
  const { slug, conditionId, profit } = market;
  const pictures = archive.database.read(() => {
    const stored = archive.markets.named(conditionId)[0];
    if (stored === undefined) return [];
    const { startMs: fromMs, endMs: toMs } = stored;
    const query = { fromMs, toMs, asOfMs: undefined };
    const hasBooks = (outcome: Outcome) => archive.snapshots.nearest(stored, outcome, 0, 'after') !== undefined;
    const outcome: Outcome = hasBooks('up') ? 'up' : 'down';
    const marks = report.fills
      .filter((fill) => fill.market === slug)
      .slice(0, MARKS_MAX)
      .map((fill): PlotMark => {
        const isOwn = fill.outcome === outcome;
        const isBuy = isOwn === (fill.side === 'buy');
        const price = isOwn ? fill.price : complement(fill.price);
        return { atMs: parseInstant(fill.at)!, price, isBuy, isTaker: fill.role === 'taker' };
      });
    return (['wide', 'narrow'] as const).map((size) => {
      const map = wholeHeatMap(archive, stored, { ...query, outcome, columns: COLUMNS[size] });
      const plot = { title: `${slug}, ${outcome}`, map, window: stored, fromMs, toMs, marks };
      const svg = heatMapSvg(plot, size === 'wide' ? WIDE : NARROW);
      // Ids are unique in a page.
      return {
        size,
        outcome,
        svg: svg.replaceAll(/(id="|labelledby="|#)(gap|title)\b/g, `$1$2-${size}-${stored.key}`),
      };
    });
  });
  const [first] = pictures;
  if (first === undefined) return null;
  return (
    <figure>
      <figcaption>
        <strong>{slug || conditionId}</strong> <span class={toneOf(profit)}>{signedMoney(profit)}</span>
        <div class="quiet">
          Fills on the book of {first.outcome}: triangles up are buys of {first.outcome} or sells of{' '}
          {otherOutcome(first.outcome)}, triangles down the reverse; white ones rested, black ones took.
        </div>
      </figcaption>
      {pictures.map(({ size, svg }) => (
        <div key={size} class={size} dangerouslySetInnerHTML={{ __html: svg }} />
      ))}
    </figure>
  );
}
