import type { AccountUsage } from '../../account/account-usage.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { HOUR_MS } from '../../domain/usage.ts';
import { intervalText } from '../usage/chart-data.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { UsageTable, UsageTotals } from '../usage/usage-tables.tsx';

interface UsageFiguresContent {
  readonly used: AccountUsage;
  readonly keys: ReadonlyMap<string, ApiKey>;
  /** Link to the file with the usage. */
  readonly file: string;
}

/** Sums, a chart and tables of the same usage. */
export function UsageFigures({ used, keys, file }: UsageFiguresContent) {
  if (used.rows.length === 0) return <p class="card quiet">No requests in this time.</p>;
  const nameOf = (id: string) => keyName(keys.get(id)!);
  const byKey = used.keys.map(({ name, series }) => ({ name: nameOf(name), series }));
  return (
    <>
      <UsageTotals sum={used.total.sum} />
      <UsageChart range={used} splits={{ Key: byKey, Route: used.routes }} />
      <h2>By key</h2>
      <UsageTable by="Key" rows={used.keys.map(({ name, series: { sum } }) => ({ name: nameOf(name), sum }))} />
      <h2>By route</h2>
      <UsageTable
        by="Route"
        rows={used.routes.map(({ name, series: { sum } }) => ({ name: <code>{name}</code>, sum }))}
      />
      <Intervals used={used} />
      <p class="quiet small">
        Times are in UTC. <a href={file}>Download the usage by key and route as CSV</a>.
      </p>
    </>
  );
}

function Intervals({ used }: { readonly used: AccountUsage }) {
  const rows = used.total.intervals.toReversed().map(([startMs, sum]) => {
    return { name: intervalText(startMs, used.intervalMs), sum };
  });
  const by = used.intervalMs === HOUR_MS ? 'Hour' : 'Day';
  return (
    <details class="more">
      <summary class="opener">By {by.toLowerCase()}</summary>
      <UsageTable by={by} rows={rows} />
    </details>
  );
}

/** The name of a key for its owner. */
export function keyName({ name = 'Unnamed key', prefix }: ApiKey): string {
  return `${name} (${prefix}…)`;
}
