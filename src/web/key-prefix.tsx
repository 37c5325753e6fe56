import type { ApiKey } from '../domain/api-key.ts';
import type { Column } from './table.tsx';

/** The beginnings of keys, by which people find them in their programs. */
export const PREFIX_COLUMN: Column<Pick<ApiKey, 'prefix'>> = {
  heading: 'Begins with',
  class: 'nowrap',
  cell: ({ prefix }) => <code>{prefix}…</code>,
};
