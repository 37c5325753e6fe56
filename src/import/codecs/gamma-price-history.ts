import { parseJsonFigures } from '../../record/exact-json.ts';
import { isFields, rejected } from '../../record/fields.ts';
import type { Codec } from '../codec.ts';
import { jsonValuesOf } from '../parse/json-values.ts';

/**
 * The venue's answer to /prices-history: `{"history": [{"t": Unix seconds, "p": price}, …]}`. The question said whose
 * prices they are and the answer does not, so none can be kept; they are recognised to say so.
 */
export function priceHistories(): Codec {
  return {
    format: 'price history',
    input: "The venue's answers to `/prices-history`",
    becomes: 'Recognised and rejected: they do not say which market and outcome they are about.',
    recognises: ({ values }) => values.some(isHistory),
    read: async (file, sink) => {
      for await (const line of jsonValuesOf(file)) {
        sink.take('price history', line.number, () => {
          if (!isHistory(parseJsonFigures(line.text()))) throw rejected('the line is not a price history');
          throw rejected('a price history does not say of which market and outcome it is');
        });
      }
    },
  };
}

function isHistory(value: unknown): boolean {
  if (!isFields(value) || !Array.isArray(value.history) || 'asset_id' in value || 'market' in value) return false;
  return value.history.every((point) => isFields(point) && 't' in point && 'p' in point);
}
