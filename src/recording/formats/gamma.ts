import { DomainError } from '../../domain/errors.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import type { Codec } from '../codec.ts';
import type { Intake } from '../intake.ts';
import { isGamma, isStale, statementsOf } from './gamma-object.ts';
import { parseJsonFigures } from './json-figures.ts';
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
    let kind = MARKET;
    let statement: MarketStatement | undefined;
    let refusal: unknown;
    try {
      statement = parse();
      if (isStale(statement)) kind = STALE_MARKET;
    } catch (error) {
      refusal = error;
    }
    intake.take(kind, line.number, () => {
      if (statement === undefined) throw refusal;
      return [{ type: 'market', statement }];
    });
  }
}

function statementsIn(line: Line): (() => MarketStatement)[] {
  try {
    return statementsOf(parseJsonFigures(line.text()));
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return [
      () => {
        throw error;
      },
    ];
  }
}
