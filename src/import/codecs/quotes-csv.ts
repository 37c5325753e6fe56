import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import type { Quote } from '../../domain/quote.ts';
import { standInConditionId } from '../../domain/stand-in-id.ts';
import { type Fields, instantField, nonNegative, numericField, priceWithinOne, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { coinOf, joinedTokens, marketWindow, timeField, UNKNOWN_TOKEN } from '../../venue/metadata-fields.ts';
import { slugField, windowOfSlug } from '../../venue/slug.ts';
import type { Codec } from '../codec.ts';
import type { KnownMarket, KnownMarkets } from '../known-markets.ts';
import { csvRows } from '../mapping/text-rows.ts';
import { hasColumns } from '../parse/csv.ts';

/** The required columns, and those that a file may lack. */
const COLUMNS = [
  ...['market_slug', 'up_token_id', 'down_token_id'],
  ...OUTCOMES.flatMap((outcome) => ['book_ts', 'bid', 'ask'].map((name) => `${outcome}_${name}`)),
];
const FURTHER_COLUMNS = [
  ...OUTCOMES.flatMap((outcome) => ['bid_size', 'ask_size'].map((name) => `${outcome}_${name}`)),
  ...['coin', 'market_end_ts'],
];

/**
 * CSV of the best bid and ask of both outcomes, with a row per change of either one. The quote of an outcome that did not change is
 * repeated with its old time.
 */
export function quotesCsv(): Codec {
  return {
    format: 'best-quote CSV',
    input: 'CSV of best quotes, a row per change',
    becomes: 'Markets and quotes.',
    lines: 'csv',
    recognises: (sample) => hasColumns(sample, COLUMNS),
    read: async (file, sink) => {
      const rows = csvRows(file, { onHeader: () => sink.ignore('header') });
      await rows.read(
        [...COLUMNS, ...FURTHER_COLUMNS],
        ({ number, fields }) => sink.take('quotes', number, () => itemsOf(fields(), sink.markets)),
        FURTHER_COLUMNS,
      );
    },
  };
}

/** The row's quotes, after a market record if the row adds to the known market. */
function itemsOf(row: Fields, markets: KnownMarkets): readonly RecordedItem[] {
  const stated = marketOf(row, markets);
  const { conditionId, clobTokenIds } = stated;
  const items = OUTCOMES.flatMap((outcome, index): RecordedItem[] => {
    const quote = quoteOf(row, outcome);
    if (quote === undefined) return [];
    const assetId = clobTokenIds[index];
    return [{ type: 'quote', conditionId, outcome, id: undefined, assetId, ...quote }];
  });
  if (items.length === 0) throw rejected('up_book_ts and down_book_ts are both missing');
  return isNew(stated, markets) ? [{ type: 'market', statement: stated }, ...items] : items;
}

/** The row's market, found by its assets or by its slug. An unknown market gets a stand-in conditionId. */
function marketOf(row: Fields, markets: KnownMarkets): KnownMarket {
  const slug = slugField(row, 'market_slug');
  const endMs = timeField(row, 'market_end_ts');
  const coin = coinOf(row, 'coin');
  const tokens = [tokenField(row, 'up_token_id'), tokenField(row, 'down_token_id')] as const;
  if (tokens[0] === tokens[1] && tokens[0] !== UNKNOWN_TOKEN)
    throw rejected('up_token_id and down_token_id are the same asset');
  const known =
    markets.byAsset(tokens[0])?.market ?? markets.byAsset(tokens[1])?.market ?? sameWindow(slug, endMs, markets);
  if (known === undefined) {
    const window = marketWindow(slug, { startMs: undefined, endMs }, [coin]);
    return { conditionId: standInConditionId(slug, window.startMs), slug, ...window, clobTokenIds: tokens };
  }
  const refuse = (name: string, stated: string | number | undefined, value: string | number) => {
    if (stated === undefined || stated === value) return;
    throw rejected(`${name} ${stated} contradicts market ${known.conditionId}, which has ${value}`);
  };
  refuse('market_slug', slug.toLowerCase(), known.slug.toLowerCase());
  refuse('coin', coin, known.symbol);
  refuse('market_end_ts', endMs, known.endMs);
  return { ...known, clobTokenIds: joinedTokens(known.clobTokenIds, tokens) };
}

function sameWindow(slug: string, endMs: number | undefined, markets: KnownMarkets): KnownMarket | undefined {
  const window = endMs === undefined ? undefined : windowOfSlug(slug, endMs - 1);
  const known = markets.bySlug(slug, window?.startMs);
  return endMs === undefined || endMs === known?.endMs ? known : undefined;
}

/** Returns true if the market, or one of its asset ids, is not known yet. */
function isNew({ conditionId, clobTokenIds }: KnownMarket, markets: KnownMarkets): boolean {
  const known = markets.byConditionId(conditionId);
  return known === undefined || clobTokenIds.some((id, index) => id !== known.clobTokenIds[index]);
}

function tokenField(row: Fields, column: string): string {
  return row[column] === '' ? UNKNOWN_TOKEN : numericField(row, column);
}

/** The quote of an outcome; undefined if the row has no values for it. */
function quoteOf(row: Fields, outcome: Outcome): { readonly timestampMs: number; readonly quote: Quote } | undefined {
  const text = (name: string) => row[`${outcome}_${name}`] ?? '';
  const names = ['book_ts', 'bid', 'bid_size', 'ask', 'ask_size'];
  if (names.every((name) => text(name) === '')) return undefined;
  const timestampMs = instantField(row, `${outcome}_book_ts`);
  const [bidPrice, bidSize] = sideOf(`${outcome}_bid`, text('bid'), text('bid_size'));
  const [askPrice, askSize] = sideOf(`${outcome}_ask`, text('ask'), text('ask_size'));
  return { timestampMs, quote: { bidPrice, bidSize, askPrice, askSize } };
}

/** Reads a side of a quote. An empty one has no values, or the size 0 at the price 0 or 1. */
function sideOf(name: string, price: unknown, size: unknown): [number, number] | [undefined, undefined] {
  if (price === '' && size === '') return [undefined, undefined];
  const values: [number, number] = [priceWithinOne(price, name), nonNegative(size, `${name}_size`)];
  return values[1] === 0 ? [undefined, undefined] : values;
}
