import { DomainError } from '../../domain/errors.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import type { Codec } from '../codec.ts';
import type { Intake } from '../intake.ts';
import { attempt, attempted } from './fields.ts';
import { isGamma, isStale, statementsOf } from './gamma-object.ts';
import { parseJsonFigures } from './json-extent.ts';
import { jsonValuesOf, sampledValues } from './json-values.ts';
import type { Line } from './lines.ts';

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

function takeLine(line: Line, intake: Intake): void {
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
