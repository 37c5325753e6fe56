import { OUTCOMES, type Outcome } from '../../domain/outcome.ts';
import type { Quote } from '../../domain/quote.ts';
import { standInConditionId } from '../../domain/stand-in-id.ts';
import { instantField, nonNegative, numericField, priceWithinOne, rejected } from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { coinOf, joinedTokens, marketWindow, timeField, UNKNOWN_TOKEN } from '../../venue/metadata-fields.ts';
import { slugField, windowOfSlug } from '../../venue/slug.ts';
import type { Codec } from '../codec.ts';
import type { KnownMarket, KnownMarkets } from '../known-markets.ts';
import { hasColumns, type Row, readRows } from '../parse/csv.ts';

/** The required columns; the others are up_bid_size, up_ask_size, the same with `down_`, coin and market_end_ts. */
const COLUMNS = [
  ...['market_slug', 'up_token_id', 'down_token_id'],
  ...OUTCOMES.flatMap((outcome) => ['book_ts', 'bid', 'ask'].map((name) => `${outcome}_${name}`)),
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
      await readRows(file, COLUMNS, sink, (line, row) => {
        sink.take('quotes', line, () => itemsOf(row(), sink.markets));
      });
    },
  };
}

/** The row's quotes, after a market record if the row adds to the known market. */
function itemsOf(row: Row, markets: KnownMarkets): readonly RecordedItem[] {
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
function marketOf(row: Row, markets: KnownMarkets): KnownMarket {
  const fields = { market_slug: row('market_slug'), coin: row('coin'), market_end_ts: row('market_end_ts') };
  const slug = slugField(fields, 'market_slug');
  const endMs = timeField(fields, 'market_end_ts');
  const coin = coinOf(fields, 'coin');
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

function tokenField(row: Row, column: string): string {
  const id = row(column);
  return id === undefined || id === '' ? UNKNOWN_TOKEN : numericField({ [column]: id }, column);
}

/** The quote of an outcome; undefined if the row has no values for it. */
function quoteOf(row: Row, outcome: Outcome): { readonly timestampMs: number; readonly quote: Quote } | undefined {
  const text = (name: string) => row(`${outcome}_${name}`) ?? '';
  const names = ['book_ts', 'bid', 'bid_size', 'ask', 'ask_size'];
  if (names.every((name) => text(name) === '')) return undefined;
  const timestampMs = instantField({ [`${outcome}_book_ts`]: text('book_ts') }, `${outcome}_book_ts`);
  const [bidPrice, bidSize] = sideOf(`${outcome}_bid`, text('bid'), text('bid_size'));
  const [askPrice, askSize] = sideOf(`${outcome}_ask`, text('ask'), text('ask_size'));
  return { timestampMs, quote: { bidPrice, bidSize, askPrice, askSize } };
}

/** Reads a side of a quote. An empty one has no values, or the size 0 at the price 0 or 1. */
function sideOf(name: string, price: string, size: string): [number, number] | [undefined, undefined] {
  if (price === '' && size === '') return [undefined, undefined];
  const values: [number, number] = [priceWithinOne(price, name), nonNegative(size, `${name}_size`)];
  return values[1] === 0 ? [undefined, undefined] : values;
}
