import { DomainError } from '../../domain/errors.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { parseJsonFigures } from '../../record/exact-json.ts';
import { attempt, attempted } from '../../record/fields.ts';
import { isGamma, isStale, statementsOf } from '../../venue/gamma-object.ts';
import type { Codec } from '../codec.ts';
import { jsonValuesOf, sampledValues } from '../parse/json-values.ts';
import type { Line } from '../parse/lines.ts';
import type { RecordSink } from '../record-sink.ts';

const MARKET = 'market';
const STALE_MARKET = 'stale market';

export function gammaMarkets(): Codec {
  return {
    format: 'Gamma markets',
    statesMarkets: true,
    recognises: (sample) => sampledValues(sample).some(isGamma),
    read: async (file, intake) => {
      for await (const line of jsonValuesOf(file.bytes())) takeLine(line, intake);
    },
  };
}

function takeLine(line: Line, intake: RecordSink): void {
  for (const parse of statementsIn(line)) {
    const statement = attempt(parse);
    const kind = !(statement instanceof DomainError) && isStale(statement) ? STALE_MARKET : MARKET;
    intake.take(kind, line.number, () => [{ type: 'market', statement: attempted(statement) }]);
  }
}

function statementsIn(line: Line): (() => MarketStatement)[] {
  const value = attempt(() => parseJsonFigures(line.text()));
  if (!(value instanceof DomainError)) return statementsOf(value);
  return [
    () => {
      throw value;
    },
  ];
}
