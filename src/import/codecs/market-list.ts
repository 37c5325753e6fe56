import type { MarketStatement } from '../../domain/market-statement.ts';
import { OUTCOMES, type Outcome, parseOutcome } from '../../domain/outcome.ts';
import { parseJsonFigures } from '../../record/exact-json.ts';
import {
  attempt,
  attempted,
  conditionIdField,
  type Fields,
  isFields,
  numericField,
  rejected,
  stated,
  wordField,
} from '../../record/fields.ts';
import { isGamma } from '../../venue/gamma-parser.ts';
import {
  coinOf,
  joinedTokens,
  listField,
  marketWindow,
  timeField,
  tokensByLabel,
  UNKNOWN_TOKEN,
  UNKNOWN_TOKENS,
} from '../../venue/metadata-fields.ts';
import { slugField } from '../../venue/slug.ts';
import { winnerField } from '../../venue/winner-field.ts';
import type { Codec } from '../codec.ts';
import { visitJsonValues } from '../parse/json-values.ts';
import type { Line } from '../parse/lines.ts';
import { areDescriptions, haveOtherPrices } from '../parse/recorded-prices.ts';
import type { RecordSink } from '../record-sink.ts';
import { isDataApiTrade } from './data-api-trades.ts';
import { takeMarket } from './taken-market.ts';

/** The field names of several recorders; the first one that is present is read. */
const CONDITION_IDS = ['conditionId', 'condition_id'];
const MARKET_IDS = ['marketId', 'market_id'];
const EVENT_IDS = ['eventId', 'event_id'];
const COINS = ['symbol', 'asset', 'coin'];
const STARTS = ['startTs', 'start_ts', 'startSec', 'start_sec', 'startTime', 'start_time'];
const ENDS = ['endTs', 'end_ts', 'endSec', 'end_sec', 'endTime', 'end_time'];
const TOKEN_LISTS = ['clobTokenIds', 'clob_token_ids', 'token_ids'];
const ASSETS = ['assetId', 'asset_id', 'tokenId', 'token_id'];
const UP_TOKENS = ['upTokenId', 'up_token_id'];
const DOWN_TOKENS = ['downTokenId', 'down_token_id'];

/**
 * Lists of markets that recorders keep with their frames: objects with a slug and a conditionId, one per line, in an array, or as
 * the values of one object (`{"current": …, "next": …}`). An asset without a stated outcome is ignored.
 */
export function marketLists(): Codec {
  return {
    format: 'market list',
    input: 'Lists of markets that recorders keep next to their captures',
    becomes: 'Markets, with their winner if the list has it. Markets of other kinds are ignored and counted.',
    statesMarkets: true,
    recognises: ({ values }) => isList(values.filter((value) => rowsIn(value).length > 0)),
    read: (file, sink) => visitJsonValues(file, (line) => takeLine(line, sink)),
  };
}

/** Rows that state books or prices as well are not a list of markets: to read only their markets would lose the rest. */
function isList(values: readonly unknown[]): boolean {
  const keyOf = (value: unknown) =>
    JSON.stringify(rowsIn(value).map((row) => [...CONDITION_IDS, ...ASSETS, 'outcome'].map((name) => row[name])));
  return areDescriptions(values) && !haveOtherPrices(values, keyOf);
}

function takeLine(line: Line, sink: RecordSink): void {
  const value = attempt(() => parseJsonFigures(line.text()));
  const rows = (Array.isArray(value) ? value : [value]).flatMap((element) => {
    const found = rowsIn(element);
    return found.length === 0 ? [element] : found;
  });
  for (const row of rows) {
    takeMarket(line.number, sink, () => {
      if (!isRow(attempted(row)))
        throw rejected('the line is not a market with slug and conditionId, nor an object or array of markets');
      return statementOf(row);
    });
  }
}

/** The markets in a value: the value itself, its members, or the elements of its arrays. */
function rowsIn(value: unknown): Fields[] {
  if (isRow(value)) return [value];
  if (!isFields(value) || 'type' in value || isGamma(value)) return [];
  return Object.values(value).flatMap((inner) => (Array.isArray(inner) ? inner : [inner]).filter(isRow));
}

/** Returns true for a market of a list, and false for a frame, a market record, a Gamma object or a trade. */
function isRow(value: unknown): value is Fields {
  if (!isFields(value) || 'type' in value || 'event_type' in value || isGamma(value)) return false;
  return typeof value.slug === 'string' && CONDITION_IDS.some((name) => name in value) && !isDataApiTrade(value);
}

function statementOf(row: Fields): MarketStatement {
  const slug = slugField(row);
  const times = { startMs: first(row, STARTS, timeField), endMs: first(row, ENDS, timeField) };
  const conditionId = first(row, CONDITION_IDS, conditionIdField);
  if (conditionId === undefined) throw rejected('conditionId is missing or not 0x and up to 64 hex digits');
  const clobTokenIds = tokensOf(row);
  return {
    conditionId,
    slug,
    ...marketWindow(slug, times, [first(row, COINS, coinOf)]),
    clobTokenIds,
    ...settlement(winnerField(row, clobTokenIds)),
    marketId: first(row, MARKET_IDS, numericField),
    eventId: first(row, EVENT_IDS, numericField),
  };
}

function settlement(winner: Outcome | undefined) {
  return winner === undefined ? {} : { winner, closed: true, active: false };
}

function tokensOf(row: Fields) {
  const outcomes = listField(row, 'outcomes') ?? [];
  const listed = outcomes.every(isFields) ? listedTokens(outcomes) : UNKNOWN_TOKENS;
  const labelled = TOKEN_LISTS.flatMap((name) => {
    const ids = listField(row, name);
    return ids === undefined || outcomes.length === 0 ? [] : [tokensByLabel(outcomes, ids, name)];
  });
  return [listed, pairOf(row), singleToken(row), ...labelled].reduce(joinedTokens);
}

/** `outcomes: [{token_id, outcome}, …]` */
function listedTokens(outcomes: readonly Fields[]) {
  if (outcomes.length === 0) return UNKNOWN_TOKENS;
  const labels = outcomes.map(({ outcome }) => outcome);
  return tokensByLabel(
    labels,
    outcomes.map((outcome) => first(outcome, ASSETS, numericField)),
    'outcomes',
  );
}

function pairOf(row: Fields) {
  const up = first(row, UP_TOKENS, numericField) ?? UNKNOWN_TOKEN;
  const down = first(row, DOWN_TOKENS, numericField) ?? UNKNOWN_TOKEN;
  return tokensByLabel(OUTCOMES, [up, down], UP_TOKENS[0]!);
}

/** `{assetId, outcome}`: one asset per row. */
function singleToken(row: Fields) {
  const assetId = first(row, ASSETS, numericField);
  if (assetId === undefined || stated(row, 'outcome') === undefined) return UNKNOWN_TOKENS;
  const outcome = wordField(row, 'outcome', parseOutcome, 'neither "up" nor "down"');
  return outcome === 'up' ? ([assetId, UNKNOWN_TOKEN] as const) : ([UNKNOWN_TOKEN, assetId] as const);
}

/** The value of the first of `names` that is present. */
function first<T>(fields: Fields, names: readonly string[], read: (fields: Fields, name: string) => T): T | undefined {
  const name = names.find((candidate) => stated(fields, candidate) !== undefined);
  return name === undefined ? undefined : read(fields, name);
}
