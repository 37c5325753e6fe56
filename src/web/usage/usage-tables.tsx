import type { ComponentChildren } from 'preact';
import type { UsageCounts } from '../../domain/usage.ts';
import { Table } from '../table.tsx';
import { bytesText, numberText } from '../texts.ts';
import { MEASURES, type Measure } from './chart-data.ts';

export interface UsageRow {
  readonly name: ComponentChildren;
  readonly sum: UsageCounts;
}

/** The counts of refused requests. */
export const REFUSALS = MEASURES.filter(({ field }) => field !== 'requests' && field !== 'bytes');

interface UsageTableContent {
  readonly by: string;
  readonly rows: readonly UsageRow[];
  /** By default all. */
  readonly measures?: readonly (typeof MEASURES)[number][];
}

/** Usage by key, route or another noun, which is the heading of the first column. */
export function UsageTable({ by, rows, measures = MEASURES }: UsageTableContent) {
  const counts = measures.map(({ field, name }) => ({
    heading: name,
    class: 'number nowrap',
    cell: ({ sum }: UsageRow) => measureText(field, sum[field]),
  }));
  return (
    <Table
      label={`Usage by ${by.toLowerCase()}`}
      columns={[{ heading: by, class: 'long', isRowHeading: true, cell: ({ name }) => name }, ...counts]}
      rows={rows}
      empty="No requests."
    />
  );
}

/** A path, which is broken only after a slash if it can be. */
export function Route({ path }: { readonly path: string }) {
  return <code>{path.split(/(?<=\/)/).flatMap((part) => [part, <wbr key={part} />])}</code>;
}

/** The sums of a range. */
export function UsageTotals({ sum }: { readonly sum: UsageCounts }) {
  const { requests, forbidden, limited, failed, bytes } = sum;
  const refused = forbidden + limited + failed;
  return (
    <div class="cards">
      <Figure name="Requests" value={numberText(requests)} note={`${numberText(requests - refused)} answered`} />
      <Figure
        name="Refused"
        value={numberText(refused)}
        note={`${numberText(forbidden)} forbidden, ${numberText(limited)} limited, ${numberText(failed)} others`}
      />
      <Figure name="Sent" value={bytesText(bytes)} note="bytes of answers, compressed" />
    </div>
  );
}

interface FigureContent {
  readonly name: string;
  readonly value: string;
  readonly note: ComponentChildren;
}

/** One figure of a page, with what it means. */
export function Figure({ name, value, note }: FigureContent) {
  return (
    <dl class="card figure">
      <dt>{name}</dt>
      <dd>{value}</dd>
      <dd class="note">{note}</dd>
    </dl>
  );
}

function measureText(field: Measure, value: number): string {
  return field === 'bytes' ? bytesText(value) : numberText(value);
}
