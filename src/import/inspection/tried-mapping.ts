import { countText } from '../../domain/count-text.ts';
import { DomainError } from '../../domain/errors.ts';
import { attempt, type Fields, isFields } from '../../record/fields.ts';
import type { RecordedItem, RecordType } from '../../record/record.ts';
import { UnknownMarket } from '../../venue/market-message-parser.ts';
import { OtherMarket } from '../../venue/metadata-fields.ts';
import { mappingOrProblem } from '../mapping/checked-mapping.ts';
import type { MarketNames } from '../mapping/mapped-market.ts';
import { type RecordMaker, recordMaker } from '../mapping/mapped-records.ts';
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
  const referred = mapping.refer === undefined ? undefined : new ReferredRows(mapping.refer, referredFields(mapping));
  const { only } = mapping.rows ?? {};
  const isRead = only === undefined ? undefined : rowTest(only);
  const tally = new TrialTally();
  for (const { number, fields } of firstRows) {
    const stated = { fields, file };
    if (attempt(() => referred?.keeps(stated)) === true) {
      tally.ignore('that others refer to');
      continue;
    }
    const joined = attempt(() => referred?.joined(stated));
    const row = joined === undefined || joined instanceof DomainError ? stated : joined;
    if (attempt(() => isRead?.(row)) === false) {
      tally.ignore('of other kinds');
      continue;
    }
    let made = attempt(() => maker.records(row, number, NO_MARKETS));
    if (isOfUnknownMarket(made)) {
      tally.unknown += 1;
      made = attempt(() => anonymous.records(row, number, NO_MARKETS));
    }
    tally.add(number, made);
  }
  return tally.summary();
}

/** The records of a row; undefined for one without values. */
type Made = ReturnType<RecordMaker['records']> | DomainError;

function isOfUnknownMarket(made: Made): boolean {
  const refused = made instanceof DomainError ? made : made?.refused;
  return refused instanceof UnknownMarket || refused instanceof UnknownName;
}

/** Counts what a mapping makes of rows. */
class TrialTally {
  /** Rows of markets that the file does not describe. */
  unknown = 0;
  readonly #records = new Map<RecordType, number>();
  readonly #ignored = new Map<string, number>();
  readonly #prices = emptyRange();
  #levels = 0;
  #rejected = 0;
  #crossed = 0;
  #reason: string | undefined;

  /** Counts a row that is not read, under the words that say which rows they are. */
  ignore(kind: string): void {
    increase(this.#ignored, kind);
  }

  add(row: number, made: Made): void {
    if (made === undefined) this.ignore('without values');
    else if (made instanceof OtherMarket) this.ignore('of other kinds of markets');
    else if (made instanceof DomainError) this.#reject(row, made);
    else {
      for (const record of made.records) this.#addRecord(record);
      for (const { levels } of made.levels) for (const { price } of levels) widen(this.#prices, price);
      this.#levels += made.levels.length;
      if (made.refused !== undefined) this.#reject(row, made.refused);
    }
  }

  summary() {
    const kinds = [...this.#records].map(([type, made]) => countText(made, NOUNS[type]));
    if (this.#levels > 0) kinds.push(`${countText(this.#levels, 'row')} with levels`);
    const lines = [...this.#ignored].map(([kind, rows]) => `Ignored: ${countText(rows, 'row')} ${kind}.`);
    if (this.#rejected > 0) lines.unshift(`Rejected: ${countText(this.#rejected, 'row')}, ${this.#reason}.`);
    if (this.unknown > 0) {
      const rows = countText(this.unknown, 'row');
      lines.push(`Market records are needed too for ${rows}: name a file with them (--markets).`);
    }
    return {
      records: [...this.#records.values()].reduce((sum, made) => sum + made, this.#levels),
      rejected: this.#rejected,
      crossed: this.#crossed,
      prices: this.#prices,
      text: kinds.length === 0 ? 'no record' : kinds.join(', '),
      lines,
    };
  }

  #addRecord(record: RecordedItem): void {
    if (record.type === 'market') return;
    increase(this.#records, record.type);
    const [bids, asks] = pricesOf(record);
    if (bids[0] !== undefined && asks[0] !== undefined && bids[0] > asks[0]) this.#crossed += 1;
    for (const price of [...bids, ...asks]) if (price !== undefined) widen(this.#prices, price);
  }

  #reject(row: number, { message }: DomainError): void {
    this.#rejected += 1;
    this.#reason ??= `row ${row}: ${message}`;
  }
}

function increase<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

type Prices = readonly (number | undefined)[];

/** The prices of bids and asks of a book or a quote, the best of each side first. */
function pricesOf(record: RecordedItem): readonly [bids: Prices, asks: Prices] {
  if (record.type === 'snapshot') return [record.book.bidPrices, record.book.askPrices];
  return record.type === 'quote' ? [[record.quote.bidPrice], [record.quote.askPrice]] : [[], []];
}
