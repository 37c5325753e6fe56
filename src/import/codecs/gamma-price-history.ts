import { parseJsonFigures } from '../../record/exact-json.ts';
import { isFields, rejected } from '../../record/fields.ts';
import type { Codec } from '../codec.ts';
import { visitJsonValues } from '../parse/json-values.ts';

/** Names of a history's market that recorders write; an answer of the venue has none of them. */
const NAMES = ['asset_id', 'market', 'conditionId', 'condition_id', 'slug'];

/**
 * Recognises responses of the venue's /prices-history, `{"history": [{"t": Unix seconds, "p": price}, …]}`, to reject them with a
 * reason: only the request named the market, so the prices cannot be stored.
 */
export function priceHistories(): Codec {
  return {
    format: 'price history',
    input: "The venue's answers to `/prices-history`",
    becomes: 'Recognised and rejected: they do not name their market and outcome.',
    recognises: ({ values }) => values.some(isHistory),
    read: async (file, sink) => {
      await visitJsonValues(file, (line) => {
        sink.take('price history', line.number, () => {
          if (!isHistory(parseJsonFigures(line.text()))) throw rejected('the line is not a price history');
          throw rejected('a price history does not name its market and outcome: it cannot be imported');
        });
      });
    },
  };
}

function isHistory(value: unknown): boolean {
  if (!isFields(value) || !Array.isArray(value.history) || NAMES.some((name) => name in value)) return false;
  return value.history.every((point) => isFields(point) && 't' in point && 'p' in point);
}
