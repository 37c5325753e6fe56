import { type InstantMs, parseIso } from '../../domain/instant.ts';
import { type Fields, isFields, parsedJson } from '../../record/fields.ts';
import { type DataType, dataTypeOf, EXCHANGE, refusal } from './data-type.ts';

/** The venue's types of messages, which are tardis' channels. */
export const CHANNELS = [
  'book',
  'price_change',
  'last_trade_price',
  'tick_size_change',
  'best_bid_ask',
  'new_market',
  'market_resolved',
] as const;
export type Channel = (typeof CHANNELS)[number];

/** Messages of one channel about the named assets, or about all if `assetIds` is undefined. */
export interface ChannelFilter {
  readonly channel: Channel;
  readonly assetIds: readonly string[] | undefined;
}

export function withoutAssets(filters: readonly ChannelFilter[], unwanted: readonly string[]): ChannelFilter[] {
  const gone = new Set(unwanted);
  return filters.flatMap(({ channel, assetIds }) => {
    const left = assetIds?.filter((assetId) => !gone.has(assetId));
    return left?.length === 0 ? [] : [{ channel, assetIds: left }];
  });
}

/** From `fromMs`, inclusive, to `toMs`, exclusive. */
export interface Window {
  readonly fromMs: InstantMs;
  readonly toMs: InstantMs;
}

interface ReplayOptions extends Window {
  readonly withDisconnects: boolean;
  /** See speedOf. */
  readonly speed: number | undefined;
}

/** The options of `/replay`. */
export interface NativeOptions extends ReplayOptions {
  /** Filters of messages; an empty list means all messages. */
  readonly filters: readonly ChannelFilter[];
}

/** One set of options of `/replay-normalized`. */
export interface NormalizedOptions extends ReplayOptions {
  /** Asset ids; undefined: all. */
  readonly assetIds: readonly string[] | undefined;
  /** In the order in which they were named. */
  readonly dataTypes: readonly DataType[];
}

/** Maximum number of sets of options in a request. */
export const OPTIONS_MAX = 64;
export const DATA_TYPES_MAX = 64;
/** Maximum number of levels of a side in all book snapshots of a request: each change walks through them. */
export const LEVELS_REQUESTED_MAX = 20_000;
/** Maximum speed: faster than this program can read any recording. */
const TARDIS_SPEED_MAX = 100_000;

const ASSET_ID = /^\d{1,78}$/;
const ZONE = /(?:Z|[+-]\d{2}:\d{2})$/;
const SPEED = /^\d{1,6}(?:\.\d{1,3})?$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The options of `/replay`, JSON text. Throws 'invalid-parameter'; other fields are ignored. */
export function nativeOptionsOf(text: string | undefined): NativeOptions {
  const options = parsed(text);
  if (!isFields(options)) throw refusal('options must be a JSON object');
  const { filters = [] } = options;
  if (!Array.isArray(filters)) throw refusal('filters must be an array of {"channel", "symbols"}');
  return { ...commonOptions(options, options.withDisconnects), filters: filters.map(filterOf) };
}

/** The options of `/replay-normalized`, JSON text: an object or an array of them. Throws 'invalid-parameter'. */
export function normalizedOptionsOf(text: string | undefined): NormalizedOptions[] {
  const given = parsed(text);
  const all = Array.isArray(given) ? given : [given];
  if (all.length === 0) throw refusal('options must have at least one element');
  if (all.length > OPTIONS_MAX) throw refusal(`options may have at most ${OPTIONS_MAX} elements`);
  const requested = all.map((options) => {
    if (!isFields(options)) throw refusal('options must be a JSON object, or an array of them');
    return {
      ...commonOptions(options, options.withDisconnectMessages),
      assetIds: symbolsOf('symbols', options.symbols),
      dataTypes: dataTypesOf(options.dataTypes),
    };
  });
  const dataTypes = requested.flatMap((each) => each.dataTypes);
  const levels = dataTypes.reduce((sum, type) => sum + (type.kind === 'book_snapshot' ? type.depth : 0), 0);
  if (levels > LEVELS_REQUESTED_MAX)
    throw refusal(`the book snapshots of one request may have at most ${LEVELS_REQUESTED_MAX} levels a side together`);
  return requested;
}

function commonOptions({ exchange, from, to, speed }: Fields, withDisconnects: unknown): ReplayOptions {
  return { ...windowOf(exchange, from, to), withDisconnects: withDisconnects === true, speed: speedOf(speed) };
}

/** Reads exchange, from and to. Throws 'invalid-parameter'. */
export function windowOf(exchange: unknown, from: unknown, to: unknown): Window {
  if (exchange !== EXCHANGE) throw refusal(`exchange must be '${EXCHANGE}'`);
  const fromMs = instantOf('from', from);
  const toMs = instantOf('to', to);
  if (toMs < fromMs) throw refusal('to must not be earlier than from');
  return { fromMs, toMs };
}

/** The playback speed: 1 is real time, 0 as fast as possible; undefined if none is given. tardis-machine has no speed. */
export function speedOf(given: unknown): number | undefined {
  if (given === null || given === undefined || given === '') return undefined;
  const speed = SPEED.test(String(given)) ? Number(given) : Number.NaN;
  if (speed <= TARDIS_SPEED_MAX) return speed;
  throw refusal(`speed must be a number from 0 (as fast as possible) to ${TARDIS_SPEED_MAX} (1 is real time)`);
}

function parsed(text: string | undefined): unknown {
  if (text === undefined || text === '')
    throw refusal('the parameter options is missing: send it as JSON, percent-encoded');
  const value = parsedJson(text);
  if (value === undefined) throw refusal('the parameter options is not JSON');
  return value;
}

function filterOf(filter: unknown): ChannelFilter {
  if (!isFields(filter)) throw refusal('each of filters must be an object {"channel", "symbols"}');
  const channel = CHANNELS.find((each) => each === filter.channel);
  if (channel === undefined) throw refusal(`filters[].channel must be one of ${CHANNELS.join(', ')}`);
  return { channel, assetIds: symbolsOf('filters[].symbols', filter.symbols) };
}

/** Undefined, which means all, without a list or with an empty one. */
function symbolsOf(name: string, symbols: unknown): readonly string[] | undefined {
  if (symbols === undefined || symbols === null) return undefined;
  if (!Array.isArray(symbols)) throw refusal(`${name} must be an array of asset ids`);
  if (symbols.length === 0) return undefined;
  for (const symbol of symbols) {
    if (typeof symbol !== 'string' || !ASSET_ID.test(symbol))
      throw refusal(`${name} must be asset ids, as strings of digits`);
  }
  return [...new Set<string>(symbols)];
}

function dataTypesOf(names: unknown): DataType[] {
  if (!Array.isArray(names) || names.length === 0)
    throw refusal('dataTypes must be an array with at least one data type');
  if (names.length > DATA_TYPES_MAX) throw refusal(`dataTypes may have at most ${DATA_TYPES_MAX} elements`);
  return names.map((name) => {
    if (typeof name !== 'string') throw refusal('dataTypes must be strings');
    return dataTypeOf(name);
  });
}

/** Reads a date, or a date and time with `T` or a space between them; without a zone it is UTC. */
function instantOf(name: string, value: unknown): InstantMs {
  const text = typeof value === 'string' ? value.trim().replace(' ', 'T') : '';
  const instantMs = parseIso(DAY.test(text) || ZONE.test(text) ? text : `${text}Z`);
  if (instantMs === undefined)
    throw refusal(`${name} must be a date or an instant, like 2026-04-21 or 2026-04-21T22:05:00Z`);
  return instantMs;
}
