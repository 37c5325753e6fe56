import type { MarketStatement } from '../../domain/market-statement.ts';
import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import { isStandIn, standInConditionId } from '../../domain/stand-in-id.ts';
import { meantTimeframe, TIMEFRAMES } from '../../domain/timeframe.ts';
import { conditionIdField, figure, numericField, rejected } from '../../record/fields.ts';
import { UnknownMarket } from '../../venue/market-message-parser.ts';
import { coinOf, joinedTokens, marketWindow, UNKNOWN_TOKEN } from '../../venue/metadata-fields.ts';
import { slugField, slugOf, WINDOW_MS, windowOfSlug } from '../../venue/slug.ts';
import type { KnownMarket, KnownMarkets } from '../known-markets.ts';
import { UnknownName } from '../unknown-name.ts';
import { timeReader } from './mapped-time.ts';
import { fieldReader, fieldsOfPlace, type MappedRow, shown, textOf, valueReader } from './mapped-value.ts';
import { wordReader } from './mapped-words.ts';
import type { MappedValue, Mapping } from './mapping-schema.ts';

const HOUR_MS = 3_600_000;
/** The timeframes whose windows begin at whole multiples of their length since 1970. */
export const IN_UTC: readonly string[] = ['5m', '15m', '1h'];
/** Maximum number of statements that are remembered, so that each is made only once. */
const STATEMENTS_MAX = 20_000;

/** Where the markets that rows name are found. */
export type MarketNames = Pick<KnownMarkets, 'byConditionId' | 'byAsset' | 'bySlug' | 'winnerOf'>;

/** The market of a row, and the facts about it that the row states and that are not known yet. */
export interface RowMarket {
  readonly market: KnownMarket;
  /** The asset that the row names, with its outcome; the outcome is undefined if no recording states it. */
  readonly token: { readonly id: string; readonly outcome: Outcome | undefined } | undefined;
  readonly statement: MarketStatement | undefined;
}

export interface MarketReader {
  /**
   * The market of a row whose time is `atMs`, if it has one. `outcome` is that of the row, if it has one. Throws
   * 'rejected-record' if the row does not name a market, names an unknown one without stating it, or contradicts what is known.
   */
  read(row: MappedRow, markets: MarketNames, atMs: number | undefined, outcome: Outcome | undefined): RowMarket;
  /** Call it when the records of the row are accepted: its statements are known from then on. */
  remember(market: RowMarket): void;
}

type StatedFields = Pick<
  MarketStatement,
  | 'winner'
  | 'closed'
  | 'active'
  | 'priceStart'
  | 'priceEnd'
  | 'volume'
  | 'liquidity'
  | 'marketId'
  | 'eventId'
  | 'resolvedMs'
>;

/** The fields of a market that a row states. */
interface Stated {
  readonly conditionId: string | undefined;
  readonly slug: string | undefined;
  readonly coin: string | undefined;
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
  readonly token: string | undefined;
  readonly tokens: KnownMarket['clobTokenIds'];
}

export function marketReader(table: NonNullable<Mapping['market']>, usual: Mapping['time']): MarketReader {
  const readStated = statedReader(table, usual);
  const readFacts = factsReader(table, usual);
  const remembered = new Map<string, MarketStatement>();
  const { window, ...places } = table;
  const readers = Object.values(places).flatMap(fieldsOfPlace).map(fieldReader);
  /** The market of the latest accepted row, and the values that named it: consecutive rows mostly have the same values. */
  let latest: { readonly values: readonly unknown[]; readonly market: RowMarket } | undefined;
  let values: readonly unknown[] = [];
  return {
    read: (row, markets, atMs, outcome) => {
      // A slug without a year depends on the time of the row, as may the window.
      const lengthMs = window === undefined ? HOUR_MS : WINDOW_MS['5m'];
      const time = atMs === undefined ? undefined : Math.floor(atMs / lengthMs);
      values = [row.file, outcome, time, ...readers.map((read) => read(row))];
      if (latest?.values.every((value, index) => value === values[index]) === true) return latest.market;
      const stated = readStated(row, atMs);
      const known = knownOf(stated, markets, atMs);
      const token = tokenOf(stated.token, outcome, markets);
      const tokens = withToken(stated, token);
      const market = known === undefined ? unknownMarket(stated, tokens, atMs) : joined(known, stated, tokens, markets);
      const facts = readFacts(row);
      const { conditionId } = market;
      const before = remembered.get(conditionId);
      refuseWinner(conditionId, facts.winner, before?.winner ?? (facts.winner && markets.winnerOf(conditionId)));
      const isKnown = known !== undefined && market.clobTokenIds.every((id, index) => id === known.clobTokenIds[index]);
      const statement = { ...market, ...facts };
      const isStated = isKnown && market.conditionId === known.conditionId && Object.keys(facts).length === 0;
      const isRepeated = before !== undefined && Bun.deepEquals(before, statement);
      return { market, token, statement: isStated || isRepeated ? undefined : statement };
    },
    remember: (read) => {
      const { statement } = read;
      latest = { values, market: { ...read, statement: undefined } };
      if (statement === undefined) return;
      if (remembered.size >= STATEMENTS_MAX) remembered.clear();
      remembered.set(statement.conditionId, statement);
    },
  };
}

function statedReader(
  table: NonNullable<Mapping['market']>,
  usual: Mapping['time'],
): (row: MappedRow, atMs: number | undefined) => Stated {
  const text = (key: keyof typeof table & string) => {
    const place = table[key] as MappedValue | undefined;
    if (place === undefined) return () => undefined;
    const { name, read } = valueReader(place);
    return (row: MappedRow) => named(name, textOf(read(row), name));
  };
  const time = (key: 'start' | 'end') => {
    const place = table[key];
    return place === undefined ? () => undefined : timeReader(place, `market.${key}`, usual);
  };
  const readers = {
    conditionId: text('condition_id'),
    slug: text('slug'),
    coin: text('coin'),
    token: text('token'),
    up: text('up_token'),
    down: text('down_token'),
    timeframe: text('timeframe'),
  };
  const [start, end] = [time('start'), time('end')];
  return (row, atMs) => {
    const inWindowMs = table.window === undefined ? undefined : atMs;
    const { startMs, endMs } = windowOf(start(row), end(row), readers.timeframe(row), inWindowMs);
    const [up, down] = [tokenId(readers.up(row)), tokenId(readers.down(row))];
    if (up !== undefined && up === down) throw rejected(`up_token and down_token are the same asset ${up}`);
    return {
      conditionId: ifNamed(readers.conditionId(row), conditionIdField),
      slug: ifNamed(readers.slug(row), slugField),
      coin: ifNamed(readers.coin(row), coinOf),
      startMs,
      endMs,
      token: tokenId(readers.token(row)),
      tokens: [up ?? UNKNOWN_TOKEN, down ?? UNKNOWN_TOKEN],
    };
  };
}

/** A text and the name of its field, as the readers of fields take them. */
interface Named {
  readonly fields: Readonly<Record<string, string>>;
  readonly name: string;
}

function named(name: string, text: string | undefined): Named | undefined {
  return text === undefined || text === '' ? undefined : { fields: { [name]: text }, name };
}

function ifNamed<T>(text: Named | undefined, read: (fields: Named['fields'], name: string) => T): T | undefined {
  return text === undefined ? undefined : read(text.fields, text.name);
}

function tokenId(text: Named | undefined): string | undefined {
  const id = ifNamed(text, numericField);
  return id === UNKNOWN_TOKEN ? undefined : id;
}

/** The edges of a window, of which the length may state one; `inWindowMs` is a time in it, if the mapping says that the row's is. */
function windowOf(
  startMs: number | undefined,
  endMs: number | undefined,
  length: Named | undefined,
  inWindowMs: number | undefined,
) {
  if (length === undefined) return { startMs, endMs };
  const text = length.fields[length.name]!;
  const timeframe = meantTimeframe(text);
  if (timeframe === undefined) {
    throw rejected(
      `${length.name} '${shown(text)}' is not a timeframe (${TIMEFRAMES.join(', ')}): if all rows have the same, write timeframe = { value = "15m" }`,
    );
  }
  const lengthMs = WINDOW_MS[timeframe];
  if (inWindowMs !== undefined) {
    if (!IN_UTC.includes(timeframe))
      throw rejected(`the window of ${timeframe} that a time lies in depends on New York: state its start`);
    const fromMs = Math.floor(inWindowMs / lengthMs) * lengthMs;
    return { startMs: fromMs, endMs: fromMs + lengthMs };
  }
  const from = startMs ?? (endMs === undefined ? undefined : endMs - lengthMs);
  return { startMs: from, endMs: from === undefined ? undefined : from + lengthMs };
}

/** The known market that a row names. Throws 'rejected-record' if it names two. */
function knownOf(stated: Stated, markets: MarketNames, atMs: number | undefined): KnownMarket | undefined {
  const { conditionId, token, tokens } = stated;
  const byId = conditionId === undefined ? undefined : markets.byConditionId(conditionId);
  const named = [conditionId === undefined ? undefined : `condition id ${conditionId}`, byId] as const;
  const byTokens = [token, ...tokens].flatMap((id): (readonly [string | undefined, KnownMarket | undefined])[] =>
    id === undefined || id === UNKNOWN_TOKEN ? [] : [[`asset ${id}`, markets.byAsset(id)?.market]],
  );
  const slug = stated.slug ?? venueSlug(stated);
  const bySlug = slug === undefined ? undefined : markets.bySlug(slug, startOf(slug, stated, atMs));
  // A stand-in gives way to the real condition id.
  const isOther = conditionId !== undefined && bySlug !== undefined && isStandIn(bySlug.conditionId);
  const found = [named, ...byTokens, [`slug ${slug}`, isOther ? undefined : bySlug] as const].filter(
    (one): one is readonly [string, KnownMarket] => one[1] !== undefined,
  );
  const [first] = found;
  const other = found.find(([, market]) => market.conditionId !== first![1].conditionId);
  if (other !== undefined) {
    throw rejected(
      `${first![0]} is of market ${first![1].conditionId}, but ${other[0]} is of market ${other[1].conditionId}`,
    );
  }
  if (first !== undefined && byId === undefined && conditionId !== undefined && !isStandIn(first[1].conditionId)) {
    throw rejected(`${first[0]} is of market ${first[1].conditionId}, but the row names market ${conditionId}`);
  }
  return first?.[1];
}

/** The slug that the venue gives the window of a coin; undefined if they are not stated. */
function venueSlug({ coin, startMs, endMs }: Stated): string | undefined {
  if (coin === undefined || startMs === undefined || endMs === undefined) return undefined;
  const timeframe = TIMEFRAMES.find((one) => WINDOW_MS[one] === endMs - startMs);
  return timeframe === undefined ? undefined : slugOf({ symbol: coin, timeframe, startMs, endMs });
}

function startOf(slug: string, { startMs, endMs }: Stated, atMs: number | undefined): number | undefined {
  return windowOfSlug(slug, startMs ?? (endMs === undefined ? atMs : endMs - 1))?.startMs ?? startMs;
}

/** The asset that a row names, with its outcome, which either the row or a market record states. */
function tokenOf(id: string | undefined, outcome: Outcome | undefined, markets: MarketNames): RowMarket['token'] {
  if (id === undefined) return undefined;
  const known = markets.byAsset(id)?.outcome;
  if (known !== undefined && outcome !== undefined && known !== outcome) {
    throw rejected(`the row says that asset ${id} is ${outcome}, but its market says ${known}`);
  }
  return { id, outcome: outcome ?? known };
}

function withToken({ tokens }: Stated, token: RowMarket['token']): Stated['tokens'] {
  if (token?.outcome === undefined) return tokens;
  return joinedTokens(tokens, token.outcome === 'up' ? [token.id, UNKNOWN_TOKEN] : [UNKNOWN_TOKEN, token.id]);
}

function joined(known: KnownMarket, stated: Stated, tokens: Stated['tokens'], markets: MarketNames): KnownMarket {
  const { conditionId: knownId } = known;
  const refuse = (name: string, value: string | number | undefined, known: string | number) => {
    if (value !== undefined && value !== known)
      throw rejected(`${name} ${value} contradicts market ${knownId}, which has ${known}`);
  };
  refuse('slug', stated.slug?.toLowerCase(), known.slug.toLowerCase());
  refuse('coin', stated.coin, known.symbol);
  refuse('start', stated.startMs, known.startMs);
  refuse('end', stated.endMs, known.endMs);
  for (const [index, id] of tokens.entries()) {
    const other = id === UNKNOWN_TOKEN ? undefined : markets.byAsset(id);
    const outcome = OUTCOMES[index]!;
    if (other !== undefined && other.outcome !== outcome) {
      throw rejected(
        `asset ${id} is ${other.outcome} in market ${other.market.conditionId}, but the row says ${outcome}`,
      );
    }
  }
  const conditionId = isStandIn(knownId) ? (stated.conditionId ?? knownId) : knownId;
  return { ...known, conditionId, clobTokenIds: joinedTokens(known.clobTokenIds, tokens) };
}

/** A market that only the row states. */
function unknownMarket(stated: Stated, tokens: Stated['tokens'], atMs: number | undefined): KnownMarket {
  const { conditionId, coin, startMs, token } = stated;
  const slug = stated.slug ?? venueSlug(stated);
  if (slug === undefined) {
    if (conditionId !== undefined) throw new UnknownMarket(conditionId);
    if (token !== undefined) {
      throw new UnknownName(token, `no market record states asset ${token}: import the market records first`);
    }
    if (coin !== undefined && startMs !== undefined && stated.endMs !== undefined) {
      throw rejected('the window of the market is not 5m, 15m, 1h, 4h or 24h');
    }
    throw rejected('the row does not name its market');
  }
  const times = { startMs: startMs ?? startOf(slug, stated, atMs), endMs: stated.endMs };
  const window = marketWindow(slug, times, [coin]);
  return {
    conditionId: conditionId ?? standInConditionId(slug, window.startMs),
    slug,
    ...window,
    clobTokenIds: tokens,
  };
}

function factsReader(table: NonNullable<Mapping['market']>, usual: Mapping['time']): (row: MappedRow) => StatedFields {
  const ids = { marketId: table.market_id, eventId: table.event_id };
  const figures = {
    priceStart: table.price_start,
    priceEnd: table.price_end,
    volume: table.volume,
    liquidity: table.liquidity,
  };
  const readers: ((row: MappedRow) => StatedFields)[] = [];
  for (const [field, place] of Object.entries(ids)) {
    if (place === undefined) continue;
    const { name, read } = valueReader(place);
    readers.push((row) => {
      const id = ifNamed(named(name, textOf(read(row), name)), numericField);
      return id === undefined ? {} : { [field]: id };
    });
  }
  for (const [field, place] of Object.entries(figures)) {
    if (place === undefined) continue;
    const { name, read } = valueReader(place);
    readers.push((row) => {
      const value = read(row);
      return value === undefined ? {} : { [field]: figure(value, name) };
    });
  }
  if (table.winner !== undefined) {
    const read = wordReader(table.winner, OUTCOMES);
    readers.push((row) => {
      const winner = read(row);
      return winner === undefined ? {} : { winner, closed: true, active: false };
    });
  }
  if (table.resolved !== undefined) {
    const read = timeReader(table.resolved, 'market.resolved', usual);
    readers.push((row) => {
      const resolvedMs = read(row);
      return resolvedMs === undefined ? {} : { resolvedMs };
    });
  }
  return (row) => Object.assign({}, ...readers.map((read) => read(row)));
}

function refuseWinner(conditionId: string, stated: Outcome | undefined, known: Outcome | undefined): void {
  if (stated === undefined || known === undefined || stated === known) return;
  throw rejected(`the winner of market ${conditionId} is stated as ${stated}, but is known as ${known}`);
}
