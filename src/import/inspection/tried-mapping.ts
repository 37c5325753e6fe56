import { countText } from '../../domain/count-text.ts';
import { DomainError } from '../../domain/errors.ts';
import { attempt, type Fields, isFields } from '../../record/fields.ts';
import type { RecordedItem, RecordType } from '../../record/record.ts';
import { UnknownMarket } from '../../venue/market-message-parser.ts';
import { OtherMarket } from '../../venue/metadata-fields.ts';
import { mappingOrProblem } from '../mapping/checked-mapping.ts';
import type { MarketNames } from '../mapping/mapped-market.ts';
import { recordMaker } from '../mapping/mapped-records.ts';
import { type MappedRow, rowTest, shown } from '../mapping/mapped-value.ts';
import { columnsOfMapping, referredFields } from '../mapping/mapping-columns.ts';
import { type Mapping, RECORD_SCHEMAS } from '../mapping/mapping-schema.ts';
import { ReferredRows } from '../mapping/referred-rows.ts';
import { UnknownName } from '../unknown-name.ts';
import { emptyRange, type FieldSummary, type Range, widen } from './field-tally.ts';
import type { InspectedTable } from './inspected-table.ts';
import { relativeUnit } from './suggested-time.ts';

/** Any market: the trial of a mapping needs one where the file does not name it. */
const ANY_MARKET = { slug: { value: 'btc-updown-5m-1776323400' } };
const NO_MARKETS: MarketNames = {
  byConditionId: () => undefined,
  byAsset: () => undefined,
  bySlug: () => undefined,
  winnerOf: () => undefined,
};
const UNREAD_SHOWN = 12;
const NOUNS: Readonly<Record<RecordType, string>> = {
  market: 'market',
  snapshot: 'book',
  quote: 'quote',
  price: 'price',
  lastTradePrice: 'last trade',
  coinPrice: 'reference price',
  gap: 'gap',
};

/** The records that a mapping makes of the first rows of a table. */
export interface Trial {
  /** Records, without those of markets. */
  readonly records: number;
  /** Rows that would be rejected. */
  readonly rejected: number;
  /** Books whose best bid is not below their best ask. */
  readonly crossed: number;
  /** The prices of books, quotes and levels. */
  readonly prices: Readonly<Range>;
  /** Sentences: what was read, what would be rejected or ignored, and which fields are not read. */
  readonly lines: readonly string[];
}

/**
 * Tries a mapping on the first rows of a table; undefined for one without tables of records. What it does not state yet is assumed for the
 * trial: the first field with times and its only possible unit, UTC, any market, up. `mentions` returns true for fields that the text of
 * the mapping names in a comment.
 */
export function tried(
  toml: Fields,
  table: InspectedTable,
  file: MappedRow['file'],
  mentions: (field: string) => boolean = () => false,
): Trial | undefined {
  if (!Object.keys(RECORD_SCHEMAS).some((kind) => kind in toml)) return undefined;
  const { complete, assumed } = completed(toml, table.fields);
  const mapping = mappingOrProblem(complete, 'suggested');
  if (mapping instanceof DomainError)
    return { records: 0, rejected: 0, crossed: 0, prices: emptyRange(), lines: [`Not tried: ${mapping.message}.`] };
  const found = recordsOf(mapping, table, file);
  const columns = new Set(columnsOfMapping(mapping));
  const isRead = (name: string) => columns.has(name) || [...columns].some((column) => name.startsWith(`${column}.`));
  const unread = table.fields.filter(({ name, count }) => count > 0 && !isRead(name) && !mentions(name));
  const names = unread.slice(0, UNREAD_SHOWN).map(({ name }) => name);
  const more = unread.length - names.length;
  const lines = [
    `Tried on ${table.rows === table.firstRows.length ? '' : 'the first '}${countText(table.firstRows.length, 'row')}${assumed.length === 0 ? '' : `, with ${assumed.join(', ')}`}: ${found.text}.`,
    ...found.lines,
    ...(names.length === 0 ? [] : [`Not read: ${names.join(', ')}${more === 0 ? '' : ` and ${more} more`}.`]),
  ];
  return { ...found, lines };
}

/** The mapping with what it leaves open, and in words what that is. */
function completed(toml: Fields, fields: readonly FieldSummary[]): { complete: Fields; assumed: readonly string[] } {
  const assumed: string[] = [];
  const time: Record<string, unknown> = isFields(toml.time) ? { ...toml.time } : { field: toml.time };
  const stated = fields.find(({ name }) => name === time.field);
  const timed = stated ?? fields.find(({ times }) => times !== undefined);
  const assume = (key: string, value: string | undefined) => {
    if (value === undefined || time[key] !== undefined) return;
    time[key] = value;
    assumed.push(`time.${key} = "${shown(value)}"`);
  };
  if (time.value === undefined && time.file_name === undefined && time.file_path === undefined) {
    assume('field', timed?.name);
    const isRelative = time.after !== undefined || time.before !== undefined;
    if (isRelative && stated !== undefined) assume('unit', relativeUnit(stated));
    if (time.format === undefined) assume('unit', timed?.times?.unit);
    if (time.unit === undefined) assume('format', 'iso');
    if (time.unit === undefined && timed?.times?.hasZone !== true) assume('zone', 'UTC');
  }
  const ofOutcomes = Object.keys(RECORD_SCHEMAS).flatMap((kind) => toml[kind] ?? []);
  const hasOutcome = ofOutcomes.every(
    (table) => isFields(table) && ['up', 'down', 'outcome'].some((key) => key in table),
  );
  const market = isFields(toml.market) && Object.keys(toml.market).length > 0 ? toml.market : undefined;
  const hasNoOutcome = !hasOutcome && toml.outcome === undefined && market?.token === undefined;
  const isNamed = ['condition_id', 'slug', 'token', 'start', 'end'].some((key) => market?.[key] !== undefined);
  if (!isNamed) assumed.push('any market');
  if (hasNoOutcome) assumed.push('any outcome');
  const outcome = hasNoOutcome ? { outcome: { value: 'up' } } : {};
  return { complete: { ...toml, ...outcome, time, market: isNamed ? market : { ...market, ...ANY_MARKET } }, assumed };
}

function recordsOf(mapping: Mapping, { firstRows }: InspectedTable, file: MappedRow['file']) {
  const maker = recordMaker(mapping);
  // A row of an unknown market is read again as that of another: its values are tried too.
  const isNamed = mapping.sections.some((section) => section.kind === 'coin_prices' || section.outcome !== undefined);
  const outcome = isNamed ? {} : { outcome: mapping.outcome ?? { value: 'up' } };
  const anonymous = recordMaker({ ...mapping, ...outcome, market: ANY_MARKET });
  const counts = new Map<RecordType, number>();
  const ignored = new Map<string, number>();
  let [records, levels, unknown, rejected, crossed] = [0, 0, 0, 0, 0];
  const prices = emptyRange();
  const referred = mapping.refer === undefined ? undefined : new ReferredRows(mapping.refer, referredFields(mapping));
  let reason: string | undefined;
  const count = <Key>(map: Map<Key, number>, key: Key) => map.set(key, (map.get(key) ?? 0) + 1);
  const { only } = mapping.rows ?? {};
  const isRead = only === undefined ? undefined : rowTest(only);
  for (const { number, fields } of firstRows) {
    const stated = { fields, file };
    if (attempt(() => referred?.keeps(stated)) === true) {
      count(ignored, 'that others refer to');
      continue;
    }
    const joined = attempt(() => referred?.joined(stated));
    const row = joined === undefined || joined instanceof DomainError ? stated : joined;
    if (attempt(() => isRead?.(row)) === false) {
      count(ignored, 'of other kinds');
      continue;
    }
    let found = attempt(() => maker.records(row, number, NO_MARKETS));
    const missing = found instanceof DomainError ? found : found?.refused;
    if (missing instanceof UnknownMarket || missing instanceof UnknownName) {
      unknown += 1;
      found = attempt(() => anonymous.records(row, number, NO_MARKETS));
    }
    if (found === undefined) count(ignored, 'without values');
    else if (found instanceof OtherMarket) count(ignored, 'of other kinds of markets');
    else {
      const refused = found instanceof DomainError ? found : found.refused;
      for (const record of found instanceof DomainError ? [] : found.records) {
        const { type } = record;
        count(counts, type);
        const [bids, asks] = pricesOf(record);
        if (bids[0] !== undefined && asks[0] !== undefined && bids[0] > asks[0]) crossed += 1;
        for (const price of [...bids, ...asks]) if (price !== undefined) widen(prices, price);
        if (type !== 'market') records += 1;
      }
      const groups = found instanceof DomainError ? [] : found.levels;
      levels += groups.length;
      for (const { price } of groups.flatMap((group) => group.levels)) widen(prices, price);
      if (refused === undefined) continue;
      rejected += 1;
      reason ??= `row ${number}: ${refused.message}`;
    }
  }
  const kinds = [...counts].filter(([type]) => type !== 'market').map(([type, made]) => countText(made, NOUNS[type]));
  if (levels > 0) kinds.push(`${countText(levels, 'row')} with levels`);
  const lines = [
    ...(rejected === 0 ? [] : [`Rejected: ${countText(rejected, 'row')}, ${reason}.`]),
    ...[...ignored].map(([kind, rows]) => `Ignored: ${countText(rows, 'row')} ${kind}.`),
    ...(unknown === 0
      ? []
      : [`Market records are needed too for ${countText(unknown, 'row')}: name a file with them (--markets).`]),
  ];
  return {
    records: records + levels,
    rejected,
    crossed,
    prices,
    text: kinds.length === 0 ? 'no record' : kinds.join(', '),
    lines,
  };
}

type Prices = readonly (number | undefined)[];

/** The prices of bids and asks of a book or a quote, the best of each side first. */
function pricesOf(record: RecordedItem): readonly [bids: Prices, asks: Prices] {
  if (record.type === 'snapshot') return [record.book.bidPrices, record.book.askPrices];
  return record.type === 'quote' ? [[record.quote.bidPrice], [record.quote.askPrice]] : [[], []];
}
