import { csvCells } from '../domain/csv-cells.ts';
import type { Report } from './report.ts';

const COLUMNS = 'at,market,order,outcome,side,role,price,shares,dollars,fee,mid';
const EVIDENCE = 'evidence,evidence_id,evidence_at,evidence_outcome,evidence_price,evidence_shares,evidence_before';

/** The fills, one a line, with the record that caused each. */
export function reportCsv({ fills }: Report): string {
  const lines = fills.map(({ evidence, ...fill }) =>
    [...Object.values(fill), ...Object.values(evidence)].map((value) => csvCells(String(value ?? ''))).join(),
  );
  return `${[`${COLUMNS},${EVIDENCE}`, ...lines].join('\r\n')}\r\n`;
}
