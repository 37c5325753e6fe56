import { DomainError, type ParameterIssue } from '../../domain/errors.ts';
import { type InstantMs, isInstant, parseInstant, parsePlainInteger } from '../../domain/instant.ts';
import { Slug } from '../../domain/market.ts';
import { LEVELS_MAX } from '../../domain/orderbook.ts';
import { OUTCOMES, type Outcome, parseOutcome } from '../../domain/outcome.ts';
import { NEAREST_MODES, type Order, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, type PageQuery } from '../../domain/page.ts';
import { TIMEFRAMES } from '../../domain/timeframe.ts';
import { STREAMED_FORMATS, type StreamedFormat } from '../../export/format.ts';
import type { Speed } from '../../replay/replay-clock.ts';
import type { NearestQuery } from '../../store/nearest.ts';
import { earlierLimit } from '../plugins/known-until.ts';
import { maskedText } from '../plugins/secret-mask.ts';
import type { QueryName, Route } from '../routes.ts';
import { CURSOR_SHAPE, decodeCursor, isCursorShaped } from './cursor.ts';
import { durationPattern, parseDuration } from './duration.ts';
import { INSTANT_PATTERN, ISO_PATTERN, WRITABLE_INSTANT_PATTERN } from './instant-pattern.ts';
import type { MarketListQuery } from './market-list.ts';

/** An integer time below this is a date before 1974 as milliseconds, and one of today as seconds. */
const LOOKS_LIKE_SECONDS_BELOW = 1e11;
const NAME_CHARS_MAX = 50;
/** More than all that can be wrong with the parameters of one path; a query that has more is refused with so many. */
const ISSUES_MAX = 32;
/** Times of a list that a warning names. */
const WARNED_MAX = 3;
/** How many instants one request may ask about. */
export const INSTANTS_MAX = 1000;
const [INTERVAL_MS_MIN, INTERVAL_MS_MAX] = [100, 86_400_000];
const INTERVAL_WANTED = 'must be a whole number with a unit (ms, s, m, h, d) from 100ms to 1d';
const CURSOR_WANTED =
  'must be the nextCursor of a request with the same path, order and filters: repeat that request, or start without one';
const TRUTH_VALUES = ['true', 'false'] as const;
/** `max`, or from 0.1 to 1000 with up to three decimals. */
const SPEED_SHAPE = /^(?:max|1000(?:\.0{1,3})?|[1-9]\d{0,2}(?:\.\d{1,3})?|0\.[1-9]\d{0,2})$/;
const SPEED_WANTED = 'must be max or a number from 0.1 to 1000 with up to three decimals';
const TIME_FORMS = 'Unix milliseconds as plain digits, or an ISO 8601 date or time with Z or an offset';

/** A time series page as asked for; `pageOf` checks its cursor once the series is known. */
export interface SeriesQuery {
  /** Up to what may be known. */
  readonly range: Omit<PageQuery, 'after'>;
  /** As it was asked for, both inclusive. A cursor is bound to it and not to the range, whose end a running clock moves. */
  readonly window: { readonly fromMs: InstantMs; readonly toMs: InstantMs };
  /** The outcomes asked for: one, or both. */
  readonly outcomes: readonly Outcome[];
  readonly cursor: string | undefined;
}

export interface StreamParameters {
  /** As it was asked for, both inclusive; without a beginning the market's. */
  readonly window: { readonly fromMs: InstantMs | undefined; readonly toMs: InstantMs };
  /** The window's end, or what may be known. */
  readonly toMs: InstantMs;
  readonly outcomes: readonly Outcome[];
  readonly depth: number | undefined;
  readonly speed: Speed;
}

/**
 * The page of one series. `series` names the kind of record and its market or coin, in canonical words: a slug and its
 * conditionId are the same market. `scope` is what a cursor of the page is bound to. Throws 'invalid-parameter' when the cursor was altered or given for something else.
 */
export function pageOf(
  { range, window, outcomes, cursor }: SeriesQuery,
  series: string,
): { query: PageQuery; scope: string } {
  const { order, intervalMs } = range;
  const { fromMs, toMs } = window;
  const interval = intervalMs === undefined ? [] : [intervalMs];
  const scope = [series, order, outcomes.join(), fromMs, toMs, ...interval].join(' ');
  const after = cursor === undefined ? undefined : decodeCursor(cursor, scope);
  if (cursor !== undefined && after === undefined) {
    throw new DomainError('invalid-parameter', `cursor ${CURSOR_WANTED}`, {
      issues: [{ in: 'query', name: 'cursor', message: CURSOR_WANTED }],
    });
  }
  return { query: { ...range, after }, scope };
}

/**
 * Reads a request's parameters. Every refused one is collected, and `done` throws them all at once, so that a client
 * mends its request in one go. Text is taken literally: `+` is a plus sign, nothing is trimmed.
 */
export class Parameters {
  readonly #values = new Map<string, string>();
  readonly #issues: ParameterIssue[] = [];
  readonly #secondsLike: string[] = [];
  readonly #knownUntilMs: InstantMs | undefined;
  #asOfMs: InstantMs | undefined;

  /** `search` without its question mark, its escapes known to be well formed; `knownUntilMs` see Exchange. */
  constructor(search: string, route: Route, knownUntilMs: InstantMs | undefined) {
    this.#knownUntilMs = knownUntilMs;
    for (const pair of search.split('&')) {
      if (pair === '') continue;
      const equals = pair.indexOf('=');
      const name = decodeURIComponent(equals < 0 ? pair : pair.slice(0, equals));
      const value = equals < 0 ? '' : decodeURIComponent(pair.slice(equals + 1));
      if (!route.query.includes(name)) {
        const allowed = route.query.length === 0 ? 'there are none' : `allowed are ${route.query.join(', ')}`;
        this.#refuse(name.slice(0, NAME_CHARS_MAX), `is not a parameter of this path: ${allowed}`);
      } else if (this.#values.has(name)) {
        this.#refuse(name, `is given more than once: give it once (allowed are ${route.query.join(', ')})`);
      } else {
        this.#values.set(name, value);
      }
    }
  }

  marketList(): MarketListQuery {
    const timeframe = this.#oneOf('tf', TIMEFRAMES, undefined);
    const limit = this.#limit();
    const readSkip = (text: string) => (text === '' || text === 'null' ? 0 : parsePlainInteger(text));
    const skip = this.#value('skip', readSkip, 'must be an integer from 0 to 2^53-1 in plain digits, or null', 0);
    const { fromMs, toMs } = this.#window();
    const [recorded, closed] = [this.#flag('recorded'), this.#flag('closed')];
    return { limit, skip, filter: { timeframe, recorded, closed, fromMs, toMs }, hasCounts: this.hasCounts() };
  }

  /** Whether markets are wanted with the number of their snapshots. */
  hasCounts(): boolean {
    return this.#oneOf('include', ['counts'], undefined) !== undefined;
  }

  outcomes(): readonly Outcome[] {
    const outcome = this.#value('outcome', parseOutcome, 'must be up or down', undefined);
    return outcome === undefined ? OUTCOMES : [outcome];
  }

  series(): SeriesQuery {
    const { knownToMs, ...window } = this.#window();
    const cursor = this.#values.get('cursor');
    if (cursor !== undefined && !isCursorShaped(cursor)) this.#refuse('cursor', CURSOR_WANTED);
    const order = this.#value('order', readOrder, 'must be asc or desc', 'asc');
    const limit = this.#limit();
    const intervalMs = this.#value('interval', readInterval, INTERVAL_WANTED, undefined);
    const range = { fromMs: window.fromMs, toMs: knownToMs, order, limit, intervalMs };
    return { range, window, outcomes: this.outcomes(), cursor };
  }

  exported(): { readonly format: StreamedFormat; readonly fromMs: InstantMs; readonly toMs: InstantMs } {
    const format = this.#oneOf('format', STREAMED_FORMATS, 'ndjson');
    const asOfMs = this.asOf();
    if (asOfMs !== undefined && format === 'segments') {
      this.#refuse(
        'format',
        'must be another one with asOf: segments are sent as they are stored, with what came later',
      );
    }
    const { fromMs, knownToMs } = this.#window();
    return { format, fromMs, toMs: knownToMs };
  }

  streamed(): StreamParameters {
    const { fromMs, toMs, knownToMs } = this.#window();
    const window = { fromMs: this.#values.has('from') ? fromMs : undefined, toMs };
    const [outcomes, depth] = [this.outcomes(), this.depth()];
    return { window, toMs: knownToMs, outcomes, depth, speed: this.#value('speed', readSpeed, SPEED_WANTED, 1) };
  }

  nearest(): NearestQuery {
    const outcomes = this.outcomes();
    const mode = this.#oneOf('mode', NEAREST_MODES, 'nearest');
    const maxDistanceMs = this.#value(
      'maxDistance',
      parsePlainInteger,
      'must be milliseconds in plain digits',
      Infinity,
    );
    return { outcomes, mode, maxDistanceMs, depth: this.depth(), asOfMs: this.asOf() };
  }

  /** Nothing later is shown; undefined: there is no limit. A later one than what may be known is no error: the earlier holds. */
  asOf(): InstantMs | undefined {
    const text = this.#values.get('asOf');
    // Read once, or it would be refused or warned of more than once.
    if (text !== undefined) this.#asOfMs ??= this.#instant('asOf', text, 0);
    return earlierLimit(this.#asOfMs, this.#knownUntilMs);
  }

  /** How many levels of each side; undefined: all. */
  depth(): number | undefined {
    return this.#integer('depth', 1, LEVELS_MAX);
  }

  /** The instants of a list, in its order; `where`: of the refusal where there is none. */
  instants(where: 'path' | 'query'): readonly InstantMs[] {
    const texts = this.#values.get('ts')?.split(',') ?? [];
    if (texts.length < 1 || texts.length > INSTANTS_MAX) {
      const message = `must be 1 to ${INSTANTS_MAX} instants with commas between them`;
      this.#refuse('ts', message, texts.length < 1 ? where : 'query');
      return [];
    }
    const before = this.#issues.length;
    const instants: InstantMs[] = [];
    for (const text of texts) {
      const instantMs = this.#instant('ts', text, 0);
      if (!isInstant(instantMs)) this.#refuse('ts', 'must name no instant behind the year 9999');
      // One is enough to mend the list by.
      if (this.#issues.length > before) break;
      instants.push(instantMs);
    }
    return instants;
  }

  /** The instant a path asks for. */
  instantOfPath(name: string, text: string): InstantMs {
    return this.#instant(name, text, 0, 'path');
  }

  /** Throws DomainError 'invalid-parameter' when anything was refused. */
  done(): void {
    if (this.#issues.length === 0) return;
    const detail = this.#issues.map(({ name, message }) => `${name} ${message}`).join('; ');
    throw new DomainError('invalid-parameter', detail, { issues: this.#issues });
  }

  /** A hint that seconds may have been sent as milliseconds; the value is used as it was sent. */
  warning(): string | undefined {
    if (this.#secondsLike.length === 0) return undefined;
    const others = this.#secondsLike.length > WARNED_MAX ? ' and others' : '';
    return `${this.#secondsLike.slice(0, WARNED_MAX).join(', ')}${others} looks like seconds; integer times are Unix milliseconds`;
  }

  #window(): { fromMs: InstantMs; toMs: InstantMs; knownToMs: InstantMs } {
    const fromMs = this.#instant('from', this.#values.get('from'), 0);
    const toMs = this.#instant('to', this.#values.get('to'), Number.MAX_SAFE_INTEGER);
    if (fromMs > toMs) this.#refuse('from', 'must not be later than to');
    return { fromMs, toMs, knownToMs: Math.min(toMs, this.asOf() ?? toMs) };
  }

  #limit(): number {
    return this.#integer('limit', 1, PAGE_LIMIT_MAX) ?? PAGE_LIMIT_DEFAULT;
  }

  #oneOf<T extends string, A extends T | undefined>(name: QueryName, words: readonly T[], absent: A): T | A {
    const read = (text: string) => words.find((known) => known === text);
    return this.#value(name, read, `must be one of ${words.join(', ')}`, absent);
  }

  #flag(name: QueryName): boolean | undefined {
    const word = this.#oneOf(name, TRUTH_VALUES, undefined);
    return word === undefined ? undefined : word === 'true';
  }

  #integer(name: QueryName, min: number, max: number): number | undefined {
    const read = (text: string) => {
      const value = parsePlainInteger(text);
      return value !== undefined && value >= min && value <= max ? value : undefined;
    };
    return this.#value(name, read, `must be an integer from ${min} to ${max} in plain digits`, undefined);
  }

  /** The value of a parameter, refused where `read` returns undefined; `absent` where there is none. */
  #value<T, A>(name: QueryName, read: (text: string) => T | undefined, wanted: string, absent: A): T | A {
    const text = this.#values.get(name);
    if (text === undefined) return absent;
    const value = read(text);
    if (value === undefined) this.#refuse(name, wanted);
    return value ?? absent;
  }

  #instant(name: string, text: string | undefined, absent: InstantMs, where: 'path' | 'query' = 'query'): InstantMs {
    if (text === undefined) return absent;
    const instantMs = parseInstant(text);
    if (instantMs === undefined) {
      this.#refuse(name, `must be ${TIME_FORMS}`, where);
      return absent;
    }
    if (instantMs < LOOKS_LIKE_SECONDS_BELOW && parsePlainInteger(text) !== undefined) {
      this.#secondsLike.push(`${name}=${text}`);
    }
    return instantMs;
  }

  #refuse(name: string, message: string, where: 'path' | 'query' = 'query'): void {
    if (this.#issues.length >= ISSUES_MAX) return;
    // The client may have put a key in place of a name.
    this.#issues.push({ in: where, name: maskedText(name, NAME_CHARS_MAX), message });
  }
}

function readOrder(text: string): Order | undefined {
  return text === 'asc' || text === 'desc' ? text : undefined;
}

function readSpeed(text: string): Speed | undefined {
  if (text === 'max') return text;
  return SPEED_SHAPE.test(text) ? Number(text) : undefined;
}

function readInterval(text: string): number | undefined {
  const intervalMs = parseDuration(text);
  const isInBounds = intervalMs !== undefined && intervalMs >= INTERVAL_MS_MIN && intervalMs <= INTERVAL_MS_MAX;
  return isInBounds ? intervalMs : undefined;
}

/** A parameter in the API document. */
interface ParameterSchema {
  readonly description: string;
  readonly schema: object;
  /** For parameters that no recorded request has. */
  readonly example?: string | number;
}

const integer = (minimum: number, maximum: number) => ({ type: 'integer', minimum, maximum });
const word = (words: readonly string[]) => ({ type: 'string', enum: [...words] });
const text = (pattern: string) => ({ type: 'string', pattern });

/** An instant in a query. */
const INSTANT = { anyOf: [integer(0, Number.MAX_SAFE_INTEGER), text(ISO_PATTERN)] };
/** One of a list: the answer repeats it. */
const LISTED = WRITABLE_INSTANT_PATTERN.replace(/^\^|\$$/g, '');
/** Of up to INSTANTS_MAX. */
const INSTANT_LIST_PATTERN = `^(?:${LISTED})(?:,(?:${LISTED})){0,${INSTANTS_MAX - 1}}$`;

/** For the API document: the schema of each query parameter as it is read above. */
export const QUERY_SCHEMAS: Readonly<Record<string, ParameterSchema>> = {
  tf: { description: 'Only markets of this timeframe.', schema: word(TIMEFRAMES) },
  limit: {
    description: 'How many records at the most.',
    schema: { ...integer(1, PAGE_LIMIT_MAX), default: PAGE_LIMIT_DEFAULT },
  },
  skip: {
    description: 'How many markets to pass over; null, or nothing behind the equals sign, is 0.',
    schema: { ...integer(0, Number.MAX_SAFE_INTEGER), type: ['integer', 'null'], default: 0 },
  },
  recorded: {
    description: 'true: only markets with at least one order book snapshot; false: only those without.',
    schema: word(TRUTH_VALUES),
    example: 'true',
  },
  closed: {
    description: 'true: only markets in which trading has ended; false: only the others.',
    schema: word(TRUTH_VALUES),
    example: 'true',
  },
  include: {
    description: 'counts: each market has snapshotCount as well, the number of its stored order book snapshots.',
    schema: word(['counts']),
    example: 'counts',
  },
  from: {
    description: `Earliest timestamp, inclusive, not later than to; of markets: only those whose window ends then or later. ${TIME_FORMS}.`,
    schema: INSTANT,
    example: '2026-01-08T10:00:00Z',
  },
  to: {
    description: `Latest timestamp, inclusive; of markets: only those whose window starts then or earlier. ${TIME_FORMS}.`,
    schema: INSTANT,
    example: '2026-01-08T12:00:00Z',
  },
  cursor: {
    description: 'nextCursor of the page before, with the same path, order and filters; never made up.',
    schema: text(CURSOR_SHAPE.source),
  },
  outcome: { description: 'Only records of this outcome; compared in lower case.', schema: word(OUTCOMES) },
  order: {
    description: 'By (timestamp, id), ascending or descending.',
    schema: { ...word(['asc', 'desc']), default: 'asc' },
  },
  interval: {
    description:
      'Only the last record of each bucket of this length, of each outcome (of prices: and kind, source) by itself, stamped with its own time. Buckets begin at multiples of it in Unix time; from and to cut the first and the last one off. From 100ms to 1d.',
    schema: text(durationPattern(INTERVAL_MS_MIN, INTERVAL_MS_MAX)),
    example: '1s',
  },
  depth: {
    description: 'So many levels of each side, the best ones; without it all.',
    schema: integer(1, LEVELS_MAX),
    example: 10,
  },
  mode: {
    description: 'nearest: earlier or later; before: at or before the instant, never later; after: at or after it.',
    schema: { ...word(NEAREST_MODES), default: 'nearest' },
    example: 'before',
  },
  maxDistance: {
    description: 'Milliseconds; a record further away is not found.',
    schema: integer(0, Number.MAX_SAFE_INTEGER),
    example: 60000,
  },
  asOf: {
    description: `Answers as at that instant, to somebody who listened all along: no later record, no market that was not listed yet, and of a market only what was known; what was known of volume, liquidity and updates is not, and null. A key may be held to an instant of its own: a later asOf is then no error, and changes nothing. ${TIME_FORMS}.`,
    schema: INSTANT,
    // Later than the other examples: the reference sends all of them together.
    example: '2026-01-08T12:00:00Z',
  },
  speed: {
    description:
      'How many recorded seconds pass in one: a number from 0.1 to 1000 with up to three decimals; max: as fast as the client reads.',
    schema: { ...text(SPEED_SHAPE.source), default: '1' },
    example: 'max',
  },
  ts: {
    description: `1 to ${INSTANTS_MAX} instants with commas between them, each ${TIME_FORMS}.`,
    schema: text(INSTANT_LIST_PATTERN),
  },
  format: {
    description: 'What the recording is written as.',
    schema: { ...word(STREAMED_FORMATS), default: 'ndjson' },
  },
} satisfies Record<QueryName, ParameterSchema>;

/** The same for path parameters, by name. */
export const PATH_SCHEMAS: Readonly<Record<string, ParameterSchema>> = {
  coin: { description: 'Coin code, compared in lower case.', schema: text('^[A-Za-z0-9]{1,16}$') },
  conditionId: {
    description: 'A market’s conditionId or slug, neither with regard to case.',
    schema: text(Slug.pattern ?? ''),
  },
  page: {
    description: 'The name of a page, or manual for the list of pages; with .md after it the page is Markdown.',
    schema: text('^[a-z]+(\\.md)?$'),
    example: 'replay',
  },
  // A path has text only.
  ts: { description: `The instant: ${TIME_FORMS}.`, schema: text(INSTANT_PATTERN) },
};
