import { DomainError } from '../../domain/errors.ts';
import { OUTCOMES } from '../../domain/outcome.ts';
import { meantTimeframe, TIMEFRAMES } from '../../domain/timeframe.ts';
import { TRADE_SIDES } from '../../domain/trade.ts';
import { type Fields, isFields } from '../../record/fields.ts';
import { checkedTable, refusedMapping, unknownKey } from './checked-table.ts';
import { IN_UTC } from './mapped-market.ts';
import { sideProblem } from './mapped-side.ts';
import { isRelative, timeProblem } from './mapped-time.ts';
import { placeProblem } from './mapped-value.ts';
import type { MappedWords } from './mapped-words.ts';
import { type MappedSection, type Mapping, RECORD_SCHEMAS, type RecordKind, TOP_SCHEMAS } from './mapping-schema.ts';

const RECORD_KINDS = Object.keys(RECORD_SCHEMAS) as RecordKind[];
const TOP_KEYS = Object.keys(TOP_SCHEMAS) as (keyof typeof TOP_SCHEMAS)[];
const KEYS: readonly string[] = [...TOP_KEYS, ...RECORD_KINDS];

/**
 * A mapping from its TOML. `name` is what the user called it. Throws 'invalid-parameter', in one sentence with the name of the key, for
 * keys that are unknown, missing, of another type, or that contradict each other: what a mapping does not state is never guessed.
 */
export function checkedMapping(toml: Fields, name: string): Mapping {
  const refuse = (problem: string | undefined): void => {
    if (problem !== undefined) throw refusedMapping(name, problem);
  };
  for (const key of Object.keys(toml)) if (!KEYS.includes(key)) refuse(unknownKey(key, key, KEYS, ''));
  if (toml.format === undefined) refuse('format is not stated: add format = "csv", "json", "sqlite" or "parquet"');
  const keys = TOP_KEYS.filter((key) => toml[key] !== undefined);
  const checked = keys.map((key) => [key, checkedTable(TOP_SCHEMAS[key], toml[key], key, name)] as const);
  // Each has the type of its own schema.
  const top = Object.fromEntries(checked) as Pick<Mapping, (typeof TOP_KEYS)[number]>;
  const sections = RECORD_KINDS.flatMap((kind) => sectionsOf(kind, toml[kind], name));
  const mapping: Mapping = { ...top, name, sections };
  for (const problem of problemsOf(mapping)) refuse(problem);
  return mapping;
}

/** The contradictions and omissions of a mapping: an undefined problem is none. */
function* problemsOf(mapping: Mapping): Generator<string | undefined> {
  const { refer: { key, by } = {}, time, received, market, outcome, frames, sections } = mapping;
  yield rowsProblem(mapping);
  if (by !== undefined && key === undefined) yield 'refer.key is not stated: refer.by needs it';
  yield framesProblem(mapping);
  const usual = time === undefined || isRelative(time, undefined) ? undefined : time;
  yield* marketProblems(mapping, usual);
  if (time !== undefined) yield timeProblem(time, 'time', undefined);
  if (received !== undefined) yield timeProblem(received, 'received', usual);
  if (outcome !== undefined) yield wordsProblem(outcome, 'outcome', OUTCOMES);
  for (const section of sections) yield* sectionProblems(section, mapping);
  const levels = sections.find(({ kind }) => kind === 'levels');
  const other = sections.find(({ kind }) => kind !== 'levels');
  if (levels !== undefined && other !== undefined) {
    yield `${levels.name} contradicts ${other.name}: import the file with a mapping for each`;
  }
  if (sections.length > 0 || (market ?? frames) !== undefined) return;
  yield `no table makes records: add one of [${RECORD_KINDS.join('], [')}], [frames], or [market] to import markets`;
}

/** The same; the problem of a mapping that cannot be used is returned. */
export function mappingOrProblem(toml: Fields, name: string): Mapping | DomainError {
  try {
    return checkedMapping(toml, name);
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

/** The tables of one kind of record: one, a list of them, or one for each outcome with what they share. */
function sectionsOf(kind: RecordKind, given: unknown, mapping: string): MappedSection[] {
  if (given === undefined) return [];
  const tables = Array.isArray(given) ? given : [given];
  return tables.flatMap((table: unknown, index): MappedSection[] => {
    const key = Array.isArray(given) ? `${kind}[${index}]` : kind;
    if (!isFields(table)) throw refusedMapping(mapping, `${key} must be a table`);
    const outcomes = kind === 'coin_prices' ? [] : OUTCOMES.filter((outcome) => outcome in table);
    if (outcomes.length === 0) return withMidpoints(checkedSection(kind, table, key, mapping));
    if ('outcome' in table)
      throw refusedMapping(mapping, `${key}.outcome contradicts ${key}.${outcomes[0]}: remove one`);
    const shared = Object.fromEntries(
      Object.entries(table).filter(([name]) => !OUTCOMES.some((outcome) => outcome === name)),
    );
    return outcomes.flatMap((outcome) => {
      const own = table[outcome];
      if (!isFields(own)) throw refusedMapping(mapping, `${key}.${outcome} must be a table`);
      if ('outcome' in own)
        throw refusedMapping(mapping, `${key}.${outcome}.outcome repeats ${key}.${outcome}: remove it`);
      const named = { ...shared, ...own, outcome: { value: outcome } };
      return withMidpoints(checkedSection(kind, named, `${key}.${outcome}`, mapping));
    });
  });
}

/** Quotes without sizes come with their midpoints: no book from which they could be derived is known. */
function withMidpoints(section: MappedSection): MappedSection[] {
  if (section.kind !== 'quotes' || (section.bid_size ?? section.ask_size) !== undefined) return [section];
  return [section, { ...section, kind: 'midpoints' }];
}

function checkedSection(kind: RecordKind, table: Fields, key: string, mapping: string): MappedSection {
  // The kind determines the type of the table.
  return { ...checkedTable(RECORD_SCHEMAS[kind], table, key, mapping), kind, name: key } as MappedSection;
}

function rowsProblem({ format, rows = {} }: Mapping): string | undefined {
  const { table, query, delimiter, list } = rows;
  if (format !== 'sqlite' && (table ?? query) !== undefined) {
    return `rows.${table === undefined ? 'query' : 'table'} is for format = "sqlite" only: remove it`;
  }
  if (format !== 'json' && list !== undefined) return 'rows.list is for format = "json" only: remove it';
  if (format !== 'csv' && delimiter !== undefined) return 'rows.delimiter is for format = "csv" only: remove it';
  if (format === 'sqlite' && table === undefined && query === undefined) {
    return 'rows.table is not stated: add it, or rows.query';
  }
  return table !== undefined && query !== undefined ? 'rows.table contradicts rows.query: remove one' : undefined;
}

/** Frames state their own time, market and outcome. */
function framesProblem({ frames, rows = {}, sections, ...mapping }: Mapping): string | undefined {
  if (frames === undefined) return undefined;
  const keys = ['refer', 'time', 'market', 'outcome'] as const;
  const other = keys.find((key) => mapping[key] !== undefined) ?? sections[0]?.name;
  if (other !== undefined) return `${other} contradicts frames, which state it themselves: remove one`;
  const label = (['asset_id', 'market', 'timestamp'] as const).find((one) => frames[one] !== undefined);
  if (frames.venue !== undefined && label !== undefined) {
    return `frames.${label} contradicts frames.venue: remove it, since Kalshi’s messages state what they are about, and [received] names their arrival`;
  }
  const key = (['repeats', 'unknown_markets', 'json'] as const).find((one) => rows[one] !== undefined);
  return key === undefined ? undefined : `rows.${key} contradicts frames: remove it`;
}

function* marketProblems({ market, sections }: Mapping, usual: Mapping['time']): Generator<string | undefined> {
  if (market === undefined) {
    const { name } = sections.find(({ kind }) => kind !== 'coin_prices') ?? {};
    if (name !== undefined) yield `market is not stated: add a table [market] that names the market of ${name}`;
    return;
  }
  const { condition_id, slug, token, coin, start, end, window, resolved, winner, timeframe, ...values } = market;
  for (const [key, value] of Object.entries({ condition_id, slug, token, coin, timeframe, ...values })) {
    if (value !== undefined) yield placeProblem(value, `market.${key}`);
  }
  for (const [key, value] of Object.entries({ start, end, resolved })) {
    if (value !== undefined) yield timeProblem(value, `market.${key}`, usual);
  }
  if (winner !== undefined) yield wordsProblem(winner, 'market.winner', OUTCOMES);
  if (timeframe !== undefined) yield timeframeProblem(timeframe, market);
  if (window !== undefined) yield* windowProblems(market, sections, usual);
  if ((condition_id ?? slug ?? token) !== undefined) return;
  if (coin === undefined && (start ?? end ?? window) === undefined) {
    yield 'nothing names the market: add market.slug, market.condition_id, market.token, or market.coin with market.start and market.end';
  }
  if (coin === undefined) yield 'market.coin is not stated: add it, for example coin = { value = "btc" }';
  if (timeframe !== undefined || (start !== undefined && end !== undefined)) return;
  const missing = start === undefined ? 'start' : 'end';
  yield `market.${missing} is not stated: add it, or market.timeframe, for example timeframe = { value = "15m" }`;
}

function timeframeProblem(
  { value }: NonNullable<NonNullable<Mapping['market']>['timeframe']>,
  { start, end, window }: NonNullable<Mapping['market']>,
): string | undefined {
  if (value !== undefined && meantTimeframe(value) === undefined) {
    return `market.timeframe is not one of ${TIMEFRAMES.join(', ')}: correct its value`;
  }
  if (start !== undefined && end !== undefined) {
    return 'market.timeframe contradicts market.start and market.end: remove one';
  }
  return (start ?? end ?? window) === undefined
    ? 'market.start is not stated: market.timeframe needs it, or market.end'
    : undefined;
}

/** A window that only the time of a row tells. */
function* windowProblems(
  { timeframe, ...market }: NonNullable<Mapping['market']>,
  sections: Mapping['sections'],
  usual: Mapping['time'],
): Generator<string | undefined> {
  const other = (['condition_id', 'slug', 'token', 'start', 'end'] as const).find((key) => market[key] !== undefined);
  if (other !== undefined) yield `market.${other} contradicts market.window: remove one`;
  const list = sections.find(({ each }) => each !== undefined);
  if (list !== undefined)
    yield `${list.name}.each contradicts market.window: the records of a row would be of one window`;
  if (usual === undefined) yield 'market.window needs [time] with a time since 1970: state it';
  if (timeframe === undefined)
    yield 'market.timeframe is not stated: market.window needs it, for example timeframe = { value = "15m" }';
  const meant = timeframe?.value === undefined ? undefined : meantTimeframe(timeframe.value);
  if (meant !== undefined && !IN_UTC.includes(meant)) {
    yield `market.window is for ${IN_UTC.join(', ')}: windows of ${meant} begin at hours of New York, so state market.start`;
  }
}

/** A constant is one of the two words itself; any other place needs the texts that mean each. */
function wordsProblem<Word extends string>(
  place: MappedWords<Word>,
  key: string,
  words: readonly [Word, Word],
): string | undefined {
  const problem = placeProblem(place, key);
  if (problem !== undefined) return problem;
  const { value } = place;
  if (value !== undefined) {
    const given = words.find((word) => place[word] !== undefined);
    if (given !== undefined) return `${key}.${given} contradicts ${key}.value: remove it`;
    return words.some((word) => word === value) ? undefined : `${key}.value must be "${words.join('" or "')}"`;
  }
  const missing = words.find((word) => place[word] === undefined);
  if (missing !== undefined) return `${key}.${missing} is not stated: add the texts that mean ${missing}, as a list`;
  const both = place[words[0]]!.find((text) => place[words[1]]!.includes(text));
  return both === undefined ? undefined : `${key}.${words[0]} and ${key}.${words[1]} both have "${both}"`;
}

function* sectionProblems(section: MappedSection, { time, market, outcome }: Mapping): Generator<string | undefined> {
  const { name, kind } = section;
  if (section.time === undefined && time === undefined) yield 'time is not stated: add a table [time]';
  if (section.time !== undefined) yield timeProblem(section.time, `${name}.time`, time);
  if (kind === 'coin_prices') {
    if (isRelative(section.time ?? time!, time)) {
      yield `${name}.time is counted from the window of a market, and coin prices have none: add ${name}.time`;
    }
  } else if (section.outcome !== undefined) {
    if (outcome !== undefined) yield `${name}.outcome contradicts outcome: remove one`;
    yield wordsProblem(section.outcome, `${name}.outcome`, OUTCOMES);
  } else if (outcome === undefined && market?.token === undefined) {
    yield `outcome is not stated: add a table [outcome], the tables [${kind}.up] and [${kind}.down], or market.token`;
  }
  yield complementProblem(section);
  if (kind === 'books') {
    yield sideProblem(section.bids, `${name}.bids`);
    yield sideProblem(section.asks, `${name}.asks`);
    return;
  }
  if (kind === 'levels') yield levelsProblem(section);
  if (kind === 'quotes' && (section.bid_size === undefined) !== (section.ask_size === undefined)) {
    yield `${name}.${section.bid_size === undefined ? 'bid' : 'ask'}_size is not stated: add it, or remove the other size if neither is known`;
  }
  if (kind === 'midpoints') yield midpointsProblem(section);
  const { each: _each, time: _time, ...values } = section;
  for (const [key, value] of Object.entries(values)) {
    if (key === 'side') yield sideWordsProblem(section);
    else if (key !== 'outcome' && key !== 'snapshot' && isFields(value)) yield placeProblem(value, `${name}.${key}`);
  }
}

function sideWordsProblem(section: MappedSection): string | undefined {
  const key = `${section.name}.side`;
  if (section.kind === 'levels') return wordsProblem(section.side!, key, ['bid', 'ask']);
  return section.kind === 'trades' ? wordsProblem(section.side!, key, TRADE_SIDES) : undefined;
}

/** Only prices of outcomes have one, and only one. */
function complementProblem({ name, kind, ...keys }: MappedSection): string | undefined {
  const named = Object.entries(keys).filter(([, value]) => isFields(value) && value.complement === true);
  const prices = kind === 'coin_prices' ? [] : ['price', 'bid', 'ask', 'bids', 'asks'];
  const other = named.find(([key]) => !prices.includes(key))?.[0];
  if (other !== undefined) return `${name}.${other}.complement is for prices of outcomes: remove it`;
  const [first] = named;
  return kind === 'levels' && 'complement' in keys && keys.complement === true && first !== undefined
    ? `${name}.complement contradicts ${name}.${first[0]}.complement: remove one`
    : undefined;
}

/** A price, or a bid and an ask. */
function midpointsProblem({
  name,
  price,
  bid,
  ask,
}: Extract<MappedSection, { kind: 'midpoints' }>): string | undefined {
  if (price !== undefined && (bid ?? ask) !== undefined)
    return `${name}.price contradicts ${name}.bid and ask: remove one`;
  if (price !== undefined) return undefined;
  if (bid === undefined) return `${name}.price is not stated: add it, or ${name}.bid and ${name}.ask`;
  return ask === undefined ? `${name}.ask is not stated: add it` : undefined;
}

/** A level of one side, or one of each. */
function levelsProblem({ name, ...keys }: Extract<MappedSection, { kind: 'levels' }>): string | undefined {
  const [ofSide, ofBoth] = [['side', 'price', 'size'] as const, ['bid', 'bid_size', 'ask', 'ask_size'] as const];
  const [first, second] = [
    ofSide.find((key) => keys[key] !== undefined),
    ofBoth.find((key) => keys[key] !== undefined),
  ];
  if (first !== undefined && second !== undefined) return `${name}.${first} contradicts ${name}.${second}: remove one`;
  const missing = (second === undefined ? ofSide : ofBoth).find((key) => keys[key] === undefined);
  return missing === undefined ? undefined : `${name}.${missing} is not stated: add it`;
}
