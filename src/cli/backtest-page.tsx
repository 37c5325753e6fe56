import { renderToString } from 'preact-render-to-string';
import { parseInstant } from '../domain/instant.ts';
import { complement } from '../domain/mirrored-book.ts';
import { type Outcome, otherOutcome } from '../domain/outcome.ts';
import { STYLE } from '../http/pages/assets.ts';
import { Facts } from '../http/pages/facts.tsx';
import { heatMapSvg, NARROW, type PlotMark, WIDE } from '../http/pages/heat-map-svg.ts';
import type { Archive } from '../store/archive.ts';
import type { Report, ReportedMarket } from '../trading/report.ts';
import { Table } from '../web/table.tsx';
import { FIGURES, type ReportPart, reportParts, settingsText, signedMoney } from './backtest-report.ts';
import { wholeHeatMap } from './plot.ts';
import { VERSION } from './version.ts';

const COLUMNS = 400;
const MARKS_MAX = 2000;
/** In the units of a chart, which is stretched to its element. */
const [CHART_WIDTH, CHART_HEIGHT] = [1000, 100];
/** A label as near to that of zero would be on it. */
const LABEL_HEIGHT = 12;

/** Charts and pictures, in addition to the style of the site. */
const CHARTS = `
.profit { margin: var(--s4) 0; font-size: var(--text-xxl); font-weight: 650; font-variant-numeric: tabular-nums; }
.good { color: var(--good); } .bad { color: var(--bad); }
.curve { position: relative; height: 14rem; margin: var(--s3) 0 var(--s1) 5rem; border: 1px solid var(--line); border-width: 0 0 1px 1px; }
.curve.low { height: 6rem; }
.curve svg { position: absolute; width: 100%; height: 100%; overflow: visible; }
.curve path { vector-effect: non-scaling-stroke; }
.curve span { position: absolute; right: calc(100% + var(--s2)); transform: translateY(-50%); white-space: nowrap; }
.times { display: flex; justify-content: space-between; gap: var(--s2); margin: 0 0 var(--s4) 5rem; }
figure { margin: 0 0 var(--s4); }
figure svg { display: block; width: 100%; height: auto; margin-top: var(--s3); }
figure .phone { display: none; }
@media (max-width: 48rem) { figure .desk { display: none; } figure .phone { display: block; } .curve, .times { margin-left: 4rem; } .curve span, .times { font-size: 0.75rem; } }
@media (prefers-color-scheme: dark) { figure svg { filter: invert(0.93) hue-rotate(180deg); } }
`;

/** The report as one page that loads nothing: style, charts and pictures are in it. */
export function backtestPage(archive: Archive, report: Report): string {
  const { name, summary, equity } = report;
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${name} · backtest`}</title>
        <style dangerouslySetInnerHTML={{ __html: `${STYLE.text}${CHARTS}` }} />
      </head>
      <body>
        <main class="content">
          <h1>{name}</h1>
          <p class="quiet">{settingsText(report)}</p>
          <p class={`profit ${toneOf(summary.profit)}`}>{signedMoney(summary.profit)}</p>
          <section class="card">
            <Curve title="Profit" colour="var(--series-1)" at={equity} dollars={equity.map(({ profit }) => profit)} />
            <Curve
              title="Drawdown"
              colour="var(--series-3)"
              at={equity}
              dollars={equity.map(({ drawdown }) => -drawdown)}
              isLow
            />
          </section>
          {reportParts(report).map((part) => (
            <Part key={part.heading} part={part} />
          ))}
          {summary.fills > 0 && <h2>Fills on the books</h2>}
          {[...picturedMarkets(report)].map((market) => (
            <Picture key={market.conditionId} archive={archive} report={report} market={market} />
          ))}
          <p class="quiet small">
            bookreel {VERSION}. bookreel backtest --csv lists every fill with the record that caused it.
          </p>
        </main>
      </body>
    </html>
  );
  return `<!doctype html>\n${renderToString(page)}\n`;
}

function toneOf(dollars: number): string {
  return dollars > 0 ? 'good' : dollars < 0 ? 'bad' : '';
}

function Part({ part }: { readonly part: ReportPart }) {
  const { heading, facts, figures, by = '', sentences, note } = part;
  const columns = [
    { heading: capitalised(by), isRowHeading: true, cell: ({ name }: { readonly name: string }) => name },
    ...FIGURES.map((column) => ({
      heading: capitalised(column.heading),
      cell: column.cell,
      class: 'number nowrap',
    })),
  ];
  return (
    <>
      <h2>{heading}</h2>
      {facts && <Facts facts={facts} />}
      {figures && <Table label={heading} columns={columns} rows={figures} empty="" />}
      {sentences && (
        <ul>
          {sentences.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      {note !== undefined && <p class="quiet">{note}</p>}
    </>
  );
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
}

interface CurveContent {
  readonly title: string;
  readonly colour: string;
  readonly at: readonly { readonly at: string }[];
  readonly dollars: readonly number[];
  readonly isLow?: boolean;
}

/** A line of steps over time, filled to zero. */
function Curve({ title, colour, at, dollars, isLow = false }: CurveContent) {
  const times = at.map((point) => parseInstant(point.at)!);
  const [firstMs = 0, lastMs = 0] = [times[0], times.at(-1)];
  const [top, bottom] = [Math.max(0, ...dollars), Math.min(0, ...dollars)];
  const y = (amount: number) => (1 - (amount - bottom) / (top - bottom || 1)) * CHART_HEIGHT;
  const steps = times.map((ms, i) => {
    const x = ((ms - firstMs) / (lastMs - firstMs || 1)) * CHART_WIDTH;
    return `H${x.toFixed(1)}V${y(dollars[i]!).toFixed(2)}`;
  });
  const line = `M0 ${y(dollars[0] ?? 0).toFixed(2)}${steps.join('')}`;
  const labels = [0, ...[top, bottom].filter((amount) => Math.abs(y(amount) - y(0)) > LABEL_HEIGHT)];
  return (
    <>
      <strong>{title}</strong>
      <div class={isLow ? 'curve low' : 'curve'}>
        <svg
          viewBox={`0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title} over time`}
        >
          <path d={`${line}V${y(0)}H0z`} fill={colour} opacity="0.14" />
          <path d={`M0 ${y(0)}H${CHART_WIDTH}`} stroke="var(--quiet)" stroke-dasharray="3 4" />
          <path d={line} fill="none" stroke={colour} stroke-width="2" />
        </svg>
        {labels.map((amount) => (
          <span key={amount} class="quiet small" style={`top:${y(amount).toFixed(1)}%`}>
            {signedMoney(amount)}
          </span>
        ))}
      </div>
      <div class="times quiet small">
        {[at[0], at.at(-1)].map((point, i) => (
          <span key={i === 0 ? 'from' : 'to'}>{point?.at.slice(0, 16).replace('T', ' ')}</span>
        ))}
      </div>
    </>
  );
}

/** The market with the largest profit, the one with the largest loss, and the one with the most fills. */
function picturedMarkets({ markets }: Report): ReadonlySet<ReportedMarket> {
  const traded = markets.filter(({ fills }) => fills > 0);
  const byProfit = traded.toSorted((a, b) => b.profit - a.profit);
  const [busiest] = traded.toSorted((a, b) => b.fills - a.fills);
  return new Set([byProfit[0], byProfit.at(-1), busiest].filter((market) => market !== undefined));
}

/** The books of a market with the fills on them. A fill of one outcome is one of the other at the rest of the price, on the other side. */
function Picture({ archive, report, market }: { archive: Archive; report: Report; market: ReportedMarket }) {
  const { slug, conditionId, profit } = market;
  const drawn = archive.database.read(() => {
    const stored = archive.markets.named(conditionId)[0];
    if (stored === undefined) return undefined;
    const { startMs: fromMs, endMs: toMs } = stored;
    const outcome: Outcome = archive.snapshots.nearest(stored, 'up', 0, 'after') === undefined ? 'down' : 'up';
    const fills = report.fills.filter((fill) => fill.market === slug).slice(0, MARKS_MAX);
    const marks = fills.map((fill): PlotMark => {
      const isOwn = fill.outcome === outcome;
      const price = isOwn ? fill.price : complement(fill.price);
      const isBuy = isOwn === (fill.side === 'buy');
      return { atMs: parseInstant(fill.at)!, price, isBuy, isTaker: fill.role === 'taker' };
    });
    const map = wholeHeatMap(archive, stored, { outcome, fromMs, toMs, columns: COLUMNS, asOfMs: undefined });
    return {
      outcome,
      plot: { title: `The book of ${outcome}, with the fills`, map, window: stored, fromMs, toMs, marks },
    };
  });
  if (drawn === undefined) return null;
  const { outcome, plot } = drawn;
  /** With ids that are unique in the page. */
  const svg = (size: 'desk' | 'phone') =>
    heatMapSvg(plot, size === 'desk' ? WIDE : NARROW).replaceAll(
      /(id="|labelledby="|#)(gap|title)\b/g,
      `$1$2-${size}-${conditionId}`,
    );
  return (
    <figure class="card">
      <figcaption>
        <strong>{slug || conditionId}</strong> <span class={toneOf(profit)}>{signedMoney(profit)}</span>
        <div class="quiet small">
          Triangles up buy {outcome} or sell {otherOutcome(outcome)}, triangles down the reverse; hollow ones rested,
          full ones took.
        </div>
      </figcaption>
      {(['desk', 'phone'] as const).map((size) => (
        <div key={size} class={size} dangerouslySetInnerHTML={{ __html: svg(size) }} />
      ))}
    </figure>
  );
}
