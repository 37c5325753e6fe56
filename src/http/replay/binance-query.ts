import { KLINE_INTERVALS } from '../../replay/binance/klines.ts';
import { VenueRefusal } from './venue-answer.ts';

const SYMBOL = '[A-Z0-9-_.]{1,20}';
const LIMIT_DEFAULT = 500;

/** A refusal in Binance's words (binance-spot-api-docs, errors.md). */
export function binanceRefusal(code: number, msg: string): VenueRefusal {
  return new VenueRefusal(400, { code, msg });
}

/** The parameters of a request. Its readers throw VenueRefusals; an optional one that was not sent is undefined. */
export class BinanceQuery {
  readonly #query: URLSearchParams;

  /** Throws for a parameter that is repeated, empty or not one of `known`. */
  constructor(query: URLSearchParams, known: readonly string[]) {
    for (const name of known) {
      if (query.getAll(name).length > 1) throw binanceRefusal(-1101, `Duplicate values for parameter '${name}'.`);
      if (query.get(name) === '') throw binanceRefusal(-1105, `Parameter '${name}' was empty.`);
    }
    const read = [...query.keys()].filter((name) => known.includes(name)).length;
    if (read < query.size) {
      const counts = `read '${read}' parameter(s) but was sent '${query.size}'`;
      throw binanceRefusal(-1104, `Not all sent parameters were read; ${counts}.`);
    }
    this.#query = query;
  }

  /** The one symbol of the request. */
  symbol(): string {
    return this.#legal('symbol', `^${SYMBOL}$`) ?? missing('symbol');
  }

  /** Undefined: all. */
  symbols(): readonly string[] | undefined {
    if (this.#query.has('symbol') && this.#query.has('symbols')) {
      throw binanceRefusal(-1128, 'Combination of optional parameters invalid.');
    }
    const list = this.#legal('symbols', `^\\[("${SYMBOL}"(,"${SYMBOL}"){0,}){0,1}\\]$`);
    return list === undefined ? undefined : (list.match(new RegExp(SYMBOL, 'g')) ?? []);
  }

  whole(name: string): number | undefined {
    const text = this.#legal(name, '^[0-9]{1,20}$');
    return text === undefined ? undefined : Number(text);
  }

  /** A greater number of rows than `max` means `max`. */
  limit(max: number): number {
    const limit = this.whole('limit') ?? LIMIT_DEFAULT;
    if (limit === 0) throw invalidData('limit');
    return Math.min(limit, max);
  }

  /** Milliseconds. */
  interval(): number {
    const intervalMs = KLINE_INTERVALS.get(this.#query.get('interval') ?? missing('interval'));
    if (intervalMs === undefined) throw binanceRefusal(-1120, 'Invalid interval.');
    return intervalMs;
  }

  #legal(name: string, range: string): string | undefined {
    const text = this.#query.get(name) ?? undefined;
    if (text === undefined || new RegExp(range).test(text)) return text;
    throw binanceRefusal(-1100, `Illegal characters found in parameter '${name}'; legal range is '${range}'.`);
  }
}

export function invalidData(name: string): VenueRefusal {
  return binanceRefusal(-1130, `Data sent for parameter '${name}' is not valid.`);
}

function missing(name: string): never {
  throw binanceRefusal(-1102, `Mandatory parameter '${name}' was not sent, was empty/null, or malformed.`);
}
