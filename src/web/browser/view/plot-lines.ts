import type uPlot from 'uplot';
import type { HeatMap, HeatMapColumn } from '../../../domain/heat-map.ts';
import { midOf, spreadOf } from '../../../domain/quote.ts';
import { imbalanceOf } from './heat-map-figures.ts';

/** A line as uPlot takes it: ascending instants, and a value or a gap at each. */
type Line = [times: number[], values: (number | null)[]];

/** A column ends this long before the next one begins: uPlot joins lines by their instants. */
const COLUMN_END_MS = 1e-3;

/** The midpoints of the columns, as the data of a uPlot. */
export function midLines(heatMap: HeatMap | undefined): Line {
  return columnLine(heatMap, ({ book }) => book && midOf(book));
}

/** The spreads of the columns, as the data of a uPlot. */
export function spreadLines(heatMap: HeatMap | undefined): uPlot.AlignedData {
  return columnLine(heatMap, ({ book }) => book && spreadOf(book));
}

/** The imbalances of the columns, as the data of a uPlot: those of more bids and, in a line of their own, those of more asks. */
export function imbalanceLines(heatMap: HeatMap | undefined): uPlot.AlignedData {
  const [times, values] = columnLine(heatMap, ({ book }) => book && imbalanceOf(heatMap!, book));
  const only = (sign: number) => values.map((value) => (value !== null && value * sign > 0 ? value : null));
  return [times, only(1), only(-1)];
}

/** A line with the value of each column from its start to its end, and a gap where there is none. */
function columnLine(heatMap: HeatMap | undefined, figureOf: (column: HeatMapColumn) => number | undefined): Line {
  const [times, values]: Line = [[], []];
  for (const column of heatMap?.columns ?? []) {
    const value = figureOf(column) ?? null;
    times.push(column.fromMs, column.toMs + 1 - COLUMN_END_MS);
    values.push(value, value);
  }
  return [times, values];
}
