import { DomainError } from '../../domain/errors.ts';
import type { MarketStatement } from '../../domain/market-statement.ts';
import { attempt, attempted } from '../../record/fields.ts';
import { OtherMarket } from '../../venue/metadata-fields.ts';
import type { RecordSink } from '../record-sink.ts';

const MARKET = 'market';
const OTHER_MARKET = 'market of another kind';

/** Counts a market and adds it. A market of another kind is ignored: lists have all markets of the venue. */
export function takeMarket(
  line: number,
  sink: RecordSink,
  parse: () => MarketStatement,
  kindOf: (statement: MarketStatement) => string = () => MARKET,
): void {
  const statement = attempt(parse);
  if (statement instanceof OtherMarket) sink.ignore(OTHER_MARKET);
  else {
    const kind = statement instanceof DomainError ? MARKET : kindOf(statement);
    sink.take(kind, line, () => [{ type: 'market', statement: attempted(statement) }]);
  }
}
