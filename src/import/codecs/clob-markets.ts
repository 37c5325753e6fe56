import { parseJsonFigures } from '../../record/exact-json.ts';
import { attempt, attempted, type Fields, isFields, rejected } from '../../record/fields.ts';
import { clobMarket, isClobMarket } from '../../venue/clob-market-parser.ts';
import type { Codec } from '../codec.ts';
import { visitJsonValues } from '../parse/json-values.ts';
import { areDescriptions } from '../parse/recorded-prices.ts';
import { takeMarket } from './taken-market.ts';

/** Market objects of the venue's CLOB, alone, in lists, or in the pages of `/markets`: `{data: […], next_cursor}`. */
export function clobMarkets(): Codec {
  return {
    format: 'CLOB markets',
    input: "The venue's market objects of the CLOB (`/markets/CONDITION_ID`): alone, in lists, in pages",
    becomes: 'Markets with winner. Markets of other kinds are ignored and counted.',
    statesMarkets: true,
    // A page has up to a thousand markets, which take more than a megabyte.
    recognises: ({ values, elementsOfLongValue }) =>
      areDescriptions([...values.flatMap(elementsOf), ...elementsOfLongValue].filter(isClobMarket)),
    read: async (file, sink) => {
      await visitJsonValues(file, (line) => {
        const value = attempt(() => parseJsonFigures(line.text()));
        for (const element of elementsOf(value)) {
          takeMarket(line.number, sink, () => {
            if (!isClobMarket(attempted(element))) throw rejected('the line is not a market of the CLOB');
            return clobMarket(element as Fields);
          });
        }
      });
    },
  };
}

function elementsOf(value: unknown): readonly unknown[] {
  if (isFields(value) && Array.isArray(value.data)) return value.data;
  return Array.isArray(value) ? value : [value];
}
