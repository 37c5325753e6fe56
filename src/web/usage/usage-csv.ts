import { DomainError } from '../../domain/errors.ts';
import type { UsageCounts } from '../../domain/usage.ts';
import { personalPageHeaders } from '../../http/pages/page-headers.ts';
import type { Page } from '../page.tsx';
import { MEASURES } from './chart-data.ts';

export const LINES_MAX = 100_000;

export const COUNTS = MEASURES.map(({ field }) => field);

/** A file in CSV (RFC 4180): a heading with `columns`, then `lines`. Throws 'invalid-parameter' for more than LINES_MAX. */
export function csvFile(name: string, columns: readonly string[], lines: readonly string[]): Page {
  if (lines.length > LINES_MAX) {
    throw new DomainError('invalid-parameter', 'this file would have more than 100,000 lines: choose a shorter time');
  }
  return {
    status: 200,
    headers: {
      ...personalPageHeaders(),
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}.csv"`,
    },
    body: `${[columns.join(), ...lines].join('\n')}\n`,
  };
}

/** The cells of counts. */
export function csvCounts({ requests, forbidden, limited, failed, bytes }: UsageCounts): string {
  return `${requests},${forbidden},${limited},${failed},${bytes}`;
}
