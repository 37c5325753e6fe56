import { DomainError } from '../../domain/errors.ts';
import { meantTimeframe, TIMEFRAMES } from '../../domain/timeframe.ts';
import { type Fields, isFields } from '../../record/fields.ts';
import { checkedTable, refusedMapping, unknownKey } from './checked-table.ts';
import { sideProblem } from './mapped-side.ts';
import { isRelative, timeProblem } from './mapped-time.ts';
import { placeProblem } from './mapped-value.ts';
import {
  type MappedLevelSide,
  type MappedOutcome,
  type MappedSection,
  type MappedTradeSide,
  type MappedValue,
  type Mapping,
  RECORD_SCHEMAS,
  type RecordKind,
  TOP_SCHEMAS,
} from './mapping-schema.ts';

const RECORD_KINDS = Object.keys(RECORD_SCHEMAS) as RecordKind[];
const KEYS = [...Object.keys(TOP_SCHEMAS), ...RECORD_KINDS];
const OUTCOME_TABLES = ['up', 'down'];

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
  const top = <Key extends keyof typeof TOP_SCHEMAS>(key: Key) =>
    toml[key] === undefined ? undefined : checkedTable(TOP_SCHEMAS[key], toml[key], key, name);
  const format = checkedTable(TOP_SCHEMAS.format, toml.format, 'format', name);
  const parts = {
    rows: top('rows'),
    refer: top('refer'),
    frames: top('frames'),
    time: top('time'),
    received: top('received'),
    market: top('market'),
    outcome: top('outcome'),
  };
  const sections = RECORD_KINDS.flatMap((kind) => sectionsOf(kind, toml[kind], name));
  const mapping: Mapping = { name, format, sections, ...stated(parts) };
  refuse(rowsProblem(mapping));
  const { key, by } = mapping.refer ?? {};
  if (by !== undefined && key === undefined) refuse('refer.key is not stated: refer.by needs it');
  refuse(framesProblem(mapping));
  const { time } = mapping;
  const usual = time === undefined || isRelative(time, undefined) ? undefined : time;
  refuse(marketProblem(mapping, usual));
  if (mapping.time !== undefined) refuse(timeProblem(mapping.time, 'time', undefined));
  if (mapping.received !== undefined) refuse(timeProblem(mapping.received, 'received', usual));
  if (mapping.outcome !== undefined) refuse(outcomeProblem(mapping.outcome, 'outcome'));
  for (const section of sections) refuse(sectionProblem(section, mapping));
  const levels = sections.find(({ kind }) => kind === 'levels');
  const other = sections.find(({ kind }) => kind !== 'levels');
  if (levels !== undefined && other !== undefined) {
    refuse(`${levels.name} contradicts ${other.name}: import the file with a mapping for each`);
  }
  if (sections.length === 0 && (mapping.market ?? mapping.frames) === undefined) {
    const kinds = RECORD_KINDS.join('], [');
    refuse(`no table makes records: add one of [${kinds}], [frames], or [market] to import markets`);
  }
  return mapping;
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
    const outcomes = kind === 'coin_prices' ? [] : OUTCOME_TABLES.filter((outcome) => outcome in table);
    if (outcomes.length === 0) return withMidpoints(checkedSection(kind, table, key, mapping));
    if ('outcome' in table)
      throw refusedMapping(mapping, `${key}.outcome contradicts ${key}.${outcomes[0]}: remove one`);
    const shared = Object.fromEntries(Object.entries(table).filter(([name]) => !OUTCOME_TABLES.includes(name)));
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

/** The tables that are stated: those that are undefined are left out. */
function stated<T extends object>(parts: T) {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };
}

function rowsProblem({ format, rows = {} }: Mapping): string | undefined {
  const { table, query, delimiter } = rows;
  if (format !== 'sqlite' && (table ?? query) !== undefined) {
    return `rows.${table === undefined ? 'query' : 'table'} is for format = "sqlite" only: remove it`;
  }
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
  const key = (['repeats', 'unknown_markets', 'json'] as const).find((one) => rows[one] !== undefined);
  return key === undefined ? undefined : `rows.${key} contradicts frames: remove it`;
}

function marketProblem({ market, sections }: Mapping, usual: Mapping['time']): string | undefined {
  if (market === undefined) {
    const { name } = sections.find(({ kind }) => kind !== 'coin_prices') ?? {};
    return name === undefined
      ? undefined
      : `market is not stated: add a table [market] that names the market of ${name}`;
  }
  const { condition_id, slug, token, coin, start, end, resolved, winner, timeframe, ...values } = market;
  for (const [key, value] of Object.entries({ condition_id, slug, token, coin, timeframe, ...values })) {
    const problem = valueProblem(value, `market.${key}`);
    if (problem !== undefined) return problem;
  }
  for (const [key, value] of Object.entries({ start, end, resolved })) {
    const problem = value === undefined ? undefined : timeProblem(value, `market.${key}`, usual);
    if (problem !== undefined) return problem;
  }
  if (winner !== undefined) {
    const problem = outcomeProblem(winner, 'market.winner');
    if (problem !== undefined) return problem;
  }
  if (timeframe?.value !== undefined && meantTimeframe(timeframe.value) === undefined) {
    return `market.timeframe is not one of ${TIMEFRAMES.join(', ')}: correct its value`;
  }
  if (timeframe !== undefined && start !== undefined && end !== undefined) {
    return 'market.timeframe contradicts market.start and market.end: remove one';
  }
  if (timeframe !== undefined && (start ?? end) === undefined) {
    return 'market.start is not stated: market.timeframe needs it, or market.end';
  }
  if ((condition_id ?? slug ?? token) !== undefined) return undefined;
  if (coin === undefined && start === undefined && end === undefined) {
    return 'nothing names the market: add market.slug, market.condition_id, market.token, or market.coin with market.start and market.end';
  }
  if (coin === undefined) return 'market.coin is not stated: add it, for example coin = { value = "btc" }';
  if (timeframe !== undefined || (start !== undefined && end !== undefined)) return undefined;
  const missing = start === undefined ? 'start' : 'end';
  return `market.${missing} is not stated: add it, or market.timeframe, for example timeframe = { value = "15m" }`;
}

function valueProblem(value: MappedValue | undefined, key: string): string | undefined {
  return value === undefined ? undefined : placeProblem(value, key);
}

function outcomeProblem(outcome: MappedOutcome, key: string): string | undefined {
  return wordsProblem(outcome, key, ['up', 'down'], outcome);
}

/** A constant is one of the two words itself; any other place needs the texts that mean each. */
function wordsProblem(
  place: MappedValue,
  key: string,
  words: readonly [string, string],
  texts: MappedOutcome & MappedTradeSide & MappedLevelSide,
): string | undefined {
  const problem = placeProblem(place, key);
  if (problem !== undefined) return problem;
  const lists = words.map((word) => texts[word as keyof typeof texts]);
  if (place.value !== undefined) {
    const [given] = words.filter((_, index) => lists[index] !== undefined);
    if (given !== undefined) return `${key}.${given} contradicts ${key}.value: remove it`;
    return words.includes(place.value) ? undefined : `${key}.value must be "${words.join('" or "')}"`;
  }
  const missing = words.find((_, index) => lists[index] === undefined);
  if (missing !== undefined) return `${key}.${missing} is not stated: add the texts that mean ${missing}, as a list`;
  const [first = [], second = []] = lists.map((list) => (Array.isArray(list) ? list : []));
  const both = first.find((text) => second.includes(text));
  return both === undefined ? undefined : `${key}.${words[0]} and ${key}.${words[1]} both have "${both}"`;
}

function sectionProblem(section: MappedSection, { time, market, outcome }: Mapping): string | undefined {
  const { name, kind } = section;
  if (section.time === undefined && time === undefined) return 'time is not stated: add a table [time]';
  const ofTime = section.time === undefined ? undefined : timeProblem(section.time, `${name}.time`, time);
  if (ofTime !== undefined) return ofTime;
  if (kind === 'coin_prices' && isRelative(section.time ?? time!, time)) {
    return `${name}.time is counted from the window of a market, and coin prices have none: add ${name}.time`;
  }
  if (kind !== 'coin_prices') {
    const own = section.outcome;
    if (own !== undefined && outcome !== undefined) return `${name}.outcome contradicts outcome: remove one`;
    const ofOutcome = own === undefined ? undefined : outcomeProblem(own, `${name}.outcome`);
    if (ofOutcome !== undefined) return ofOutcome;
    if (own === undefined && outcome === undefined && market?.token === undefined) {
      return `outcome is not stated: add a table [outcome], the tables [${kind}.up] and [${kind}.down], or market.token`;
    }
  }
  const ofComplement = complementProblem(section);
  if (ofComplement !== undefined) return ofComplement;
  if (kind === 'books') return sideProblem(section.bids, `${name}.bids`) ?? sideProblem(section.asks, `${name}.asks`);
  if (kind === 'levels') {
    const problem = levelsProblem(section);
    if (problem !== undefined) return problem;
  }
  if (kind === 'quotes' && (section.bid_size === undefined) !== (section.ask_size === undefined)) {
    return `${name}.${section.bid_size === undefined ? 'bid' : 'ask'}_size is not stated: add it, or remove the other size if neither is known`;
  }
  if (kind === 'midpoints') {
    const { price, bid, ask } = section;
    if (price !== undefined && (bid ?? ask) !== undefined)
      return `${name}.price contradicts ${name}.bid and ask: remove one`;
    if (price === undefined && bid === undefined)
      return `${name}.price is not stated: add it, or ${name}.bid and ${name}.ask`;
    if (price === undefined && ask === undefined) return `${name}.ask is not stated: add it`;
  }
  const { each: _each, time: _time, ...values } = section;
  for (const [key, value] of Object.entries(values)) {
    const problem =
      key === 'side' && kind === 'levels'
        ? wordsProblem(section.side!, `${name}.side`, ['bid', 'ask'], section.side!)
        : key === 'side' && kind === 'trades'
          ? wordsProblem(section.side!, `${name}.side`, ['buy', 'sell'], section.side!)
          : isFields(value) && key !== 'outcome' && key !== 'snapshot'
            ? placeProblem(value, `${name}.${key}`)
            : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
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
