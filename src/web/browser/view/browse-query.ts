import { MARKET_SORTS, type MarketSort } from '../../../domain/market-sort.ts';
import type { Outcome } from '../../../domain/outcome.ts';

/** The choices that the address of the browse page has: never a key. */
export interface BrowseQuery {
  /** Undefined: the first one that is recorded. */
  readonly coin: string | undefined;
  /** Undefined: all. */
  readonly timeframe: string | undefined;
  /** A month or a day of UTC, `2026-01` or `2026-01-08`; '' for all. */
  readonly date: string;
  /** A part of a slug or a conditionId; '' for all. */
  readonly search: string;
  /** Undefined: the recorded ones, or all where none is recorded. */
  readonly recorded: 'yes' | 'no' | 'all' | undefined;
  readonly winner: Outcome | undefined;
  /** True: only markets with gaps. */
  readonly gaps: boolean | undefined;
  /** In USDC. */
  readonly volumeMin: number | undefined;
  readonly sort: MarketSort;
  /** The id of the replay whose archive is shown; undefined: the first one. */
  readonly replay: string | undefined;
}

const DATE = /^\d{4}-(?:0[1-9]|1[0-2])(?:-\d{2})?$/;
/** As long as a slug may be. */
export const SEARCH_CHARS_MAX = 200;

/** Reads the query of an address. What is not a date is left out, so every address shows something. */
export function readBrowseQuery(query: string): BrowseQuery {
  const values = new URLSearchParams(query);
  const date = values.get('date') ?? '';
  return {
    coin: values.get('coin')?.toLowerCase() || undefined,
    timeframe: values.get('tf') || undefined,
    date: isDate(date) ? date : '',
    search: (values.get('search') ?? '').trim().slice(0, SEARCH_CHARS_MAX),
    recorded: (['yes', 'no', 'all'] as const).find((value) => value === values.get('recorded')),
    winner: (['up', 'down'] as const).find((value) => value === values.get('winner')),
    gaps: ({ true: true, false: false } as const)[values.get('gaps') ?? ''],
    volumeMin: /^[1-9]\d{0,14}$/.test(values.get('volume') ?? '') ? Number(values.get('volume')) : undefined,
    sort: MARKET_SORTS.find((value) => value === values.get('sort')) ?? 'books',
    replay: values.get('replay') || undefined,
  };
}

/** The query of an address, `?coin=btc&date=2026-01`; '' for an address that has none. */
export function writeBrowseQuery(query: BrowseQuery): string {
  const { coin, timeframe, date, search, recorded, winner, gaps, volumeMin, sort, replay } = query;
  const values = new URLSearchParams();
  if (coin !== undefined) values.set('coin', coin);
  if (timeframe !== undefined) values.set('tf', timeframe);
  if (date !== '') values.set('date', date);
  if (search !== '') values.set('search', search);
  const filters = { recorded, winner, gaps, volume: volumeMin, sort: sort === 'books' ? undefined : sort };
  for (const [name, value] of Object.entries(filters)) if (value !== undefined) values.set(name, String(value));
  if (replay !== undefined) values.set('replay', replay);
  return values.size === 0 ? '' : `?${values}`;
}

function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const instantMs = Date.parse(text);
  // 30 February would be a day of March.
  return !Number.isNaN(instantMs) && new Date(instantMs).toISOString().startsWith(text);
}
