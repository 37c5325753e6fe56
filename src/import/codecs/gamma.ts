import { DomainError } from '../../domain/errors.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { parseJsonFigures } from '../../record/exact-json.ts';
import { attempt, attempted, type Fields, isFields } from '../../record/fields.ts';
import { isGamma, isStale, statementsOf } from '../../venue/gamma-parser.ts';
import type { Codec } from '../codec.ts';
import { visitJsonValues } from '../parse/json-values.ts';
import type { Line } from '../parse/lines.ts';
import { areDescriptions, haveOtherPrices } from '../parse/recorded-prices.ts';
import type { RecordSink } from '../record-sink.ts';
import { takeMarket } from './taken-market.ts';

const MARKET = 'market';
const STALE_MARKET = 'stale market';
/** Paths of prices that recorders add to a market. */
const PRICES = /(?:bid|ask|mid|price|prob|quote)[^.]*$|(?:^|\.)(?:up|down|yes|no)(?:_[^.]*)?$/i;
/** Gamma's own prices: a recorder writes an object again when they change, and it still describes a market. */
const OWN_PRICES = /(?:^|\.)(?:bestBid|bestAsk|lastTradePrice|one\w+PriceChange|order\w+|outcome_?prices\b.*)$/i;

export function gammaMarkets(): Codec {
  return {
    format: 'Gamma markets',
    input: "The venue's market objects (Gamma): bare, in events, in lists, wrapped in `raw`, pretty-printed",
    becomes:
      "Markets with winner, prices, volume, liquidity and times; the timeframe is the length of the window. A market that is not closed a day after its window, by the object's `updatedAt`, is stale: neither active nor closed. Markets of other kinds are ignored and counted.",
    statesMarkets: true,
    lines: 'json',
    recognises: ({ values }) => isList(values.filter(isGamma)),
    read: (file, sink) => visitJsonValues(file, (line) => takeLine(line, sink)),
  };
}

/** Rows that state books or prices of the recorder as well are not a list of markets: to read only their markets would lose the rest. */
function isList(values: readonly unknown[]): boolean {
  const isPrice = (path: string) => PRICES.test(path) && !OWN_PRICES.test(path);
  return areDescriptions(values) && !haveOtherPrices(values, marketOf, isPrice);
}

function marketOf(value: unknown): string {
  const { raw, ...fields }: Fields = isFields(value) ? value : {};
  const names = (named: Fields) => [named.conditionId, named.condition_id, named.slug];
  return JSON.stringify([...names(fields), ...(isFields(raw) ? names(raw) : [])]);
}

function takeLine(line: Line, sink: RecordSink): void {
  const value = attempt(() => parseJsonFigures(line.text()));
  for (const parse of value instanceof DomainError ? [() => attempted<MarketStatement>(value)] : statementsOf(value)) {
    takeMarket(line.number, sink, parse, (statement) => (isStale(statement) ? STALE_MARKET : MARKET));
  }
}
