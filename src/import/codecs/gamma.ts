import { DomainError } from '../../domain/errors.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { parseJsonFigures } from '../../record/exact-json.ts';
import { attempt, attempted } from '../../record/fields.ts';
import { isGamma, isStale, statementsOf } from '../../venue/gamma-parser.ts';
import type { Codec } from '../codec.ts';
import { visitJsonValues } from '../parse/json-values.ts';
import type { Line } from '../parse/lines.ts';
import { areDescriptions } from '../parse/recorded-prices.ts';
import type { RecordSink } from '../record-sink.ts';
import { takeMarket } from './taken-market.ts';

const MARKET = 'market';
const STALE_MARKET = 'stale market';

export function gammaMarkets(): Codec {
  return {
    format: 'Gamma markets',
    input: "The venue's market objects (Gamma): bare, in events, in lists, wrapped in `raw`, pretty-printed",
    becomes:
      "Markets with winner, prices, volume, liquidity and times; the timeframe is the length of the window. A market that is not closed a day after its window, by the object's `updatedAt`, is stale: neither active nor closed. Markets of other kinds are ignored and counted.",
    statesMarkets: true,
    lines: 'json',
    recognises: ({ values }) => areDescriptions(values.filter(isGamma)),
    read: (file, sink) => visitJsonValues(file, (line) => takeLine(line, sink)),
  };
}

function takeLine(line: Line, sink: RecordSink): void {
  const value = attempt(() => parseJsonFigures(line.text()));
  for (const parse of value instanceof DomainError ? [() => attempted<MarketStatement>(value)] : statementsOf(value)) {
    takeMarket(line.number, sink, parse, (statement) => (isStale(statement) ? STALE_MARKET : MARKET));
  }
}
