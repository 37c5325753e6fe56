import type { MarketStatement } from '../../domain/market-statement.ts';
import { parseOutcome } from '../../domain/outcome.ts';
import { parseJsonFigures } from '../../record/exact-json.ts';
import {
  attempt,
  attempted,
  conditionIdField,
  type Fields,
  figureWithinOne,
  isFields,
  numericField,
  optional,
  rejected,
  textField,
} from '../../record/fields.ts';
import type { RecordedItem } from '../../record/record.ts';
import { OWN_TRADE_NAMES, tradeFields } from '../../record/trade-fields.ts';
import { UnknownMarket } from '../../venue/market-message-parser.ts';
import {
  joinedTokens,
  marketWindow,
  noMarket,
  OtherMarket,
  timeField,
  UNKNOWN_TOKEN,
} from '../../venue/metadata-fields.ts';
import { slugField, windowOfSlug } from '../../venue/slug.ts';
import type { Codec } from '../codec.ts';
import type { KnownMarkets } from '../known-markets.ts';
import { csvRows } from '../mapping/text-rows.ts';
import { hasColumns } from '../parse/csv.ts';
import { visitJsonValues } from '../parse/json-values.ts';
import type { RecordSink } from '../record-sink.ts';
import { UnknownName } from '../unknown-name.ts';

const TRADE = 'trade';
const OTHER_TRADE = 'trade of another kind of market';
const COLUMNS = ['asset', 'conditionId', 'side', 'size', 'price', 'timestamp'];
/** Further columns that are read. */
const FURTHER_COLUMNS = ['outcome', 'slug', 'transactionHash'];

/**
 * Trades of the venue's Data API (`/trades`): `{asset, conditionId, side, size, price, timestamp (Unix seconds), outcome, slug,
 * transactionHash}`. A trade with slug and outcome also states its market, if that is not known.
 */
export function dataApiTrades(): Codec {
  return {
    format: 'Data API trades',
    input: "Trades of the venue's Data API (`/trades`), as JSON",
    becomes: 'Trades as prices, at whole seconds; their markets, if they have slug and outcome.',
    lines: 'json',
    recognises: ({ values }) => values.some(isDataApiTrade),
    read: async (file, sink) => {
      await visitJsonValues(file, (line) => {
        const value = attempt(() => parseJsonFigures(line.text()));
        for (const element of Array.isArray(value) ? value : [value]) {
          takeTrade(line.number, sink, () => attempted(element));
        }
      });
    },
  };
}

/** Trades of the Data API as CSV, with these columns. */
export function dataApiTradesCsv(): Codec {
  return {
    format: 'Data API trades CSV',
    input:
      "Trades of the venue's Data API as CSV (`asset, conditionId, side, size, price, timestamp, outcome, transactionHash`)",
    becomes: 'As from JSON.',
    lines: 'csv',
    recognises: (sample) => hasColumns(sample, COLUMNS),
    read: async (file, sink) => {
      const rows = csvRows(file, { onHeader: () => sink.ignore('header') });
      await rows.read(
        [...COLUMNS, ...FURTHER_COLUMNS],
        ({ number, fields }) => takeTrade(number, sink, () => withoutEmpty(fields())),
        FURTHER_COLUMNS,
      );
    },
  };
}

/** Returns true for a trade, and false for a market of a list, which may have the same slug and conditionId. */
export function isDataApiTrade(value: unknown): value is Fields {
  return isFields(value) && COLUMNS.every((name) => name in value);
}

function withoutEmpty(row: Fields): Fields {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined && value !== ''));
}

function takeTrade(line: number, sink: RecordSink, read: () => unknown): void {
  const items = attempt(() => {
    const trade = read();
    if (!isDataApiTrade(trade)) throw rejected('the line is not a trade of the Data API');
    return itemsOf(trade, sink.markets);
  });
  if (items instanceof OtherMarket) sink.ignore(OTHER_TRADE);
  else sink.take(TRADE, line, () => attempted<readonly RecordedItem[]>(items));
}

function itemsOf(trade: Fields, markets: KnownMarkets): readonly RecordedItem[] {
  const conditionId = conditionIdField(trade);
  const assetId = numericField(trade, 'asset');
  const timestampMs = timeField(trade, 'timestamp');
  if (timestampMs === undefined) throw rejected('timestamp is missing');
  const label = optional(trade, 'outcome', textField);
  const stated = label === undefined ? undefined : parseOutcome(label);
  const known = markets.byConditionId(conditionId);
  const asset = markets.byAsset(assetId);
  const outcome = asset?.outcome ?? stated;
  if (stated !== undefined && outcome !== stated) {
    throw rejected(`outcome ${label} contradicts market ${conditionId}, in which asset ${assetId} is ${outcome}`);
  }
  const market = known === undefined ? marketOf(trade, conditionId, timestampMs, label) : undefined;
  if (outcome === undefined)
    throw new UnknownName(
      assetId,
      `no recording states whether asset ${assetId} of market ${conditionId} is up or down`,
    );
  const price: RecordedItem = {
    ...{ type: 'price', kind: 'trade', conditionId, outcome, timestampMs, id: undefined, assetId },
    price: figureWithinOne(trade.price, 'price'),
    trade: tradeFields(trade, OWN_TRADE_NAMES),
  };
  if (known !== undefined && asset !== undefined) return [price];
  const tokens = outcome === 'up' ? ([assetId, UNKNOWN_TOKEN] as const) : ([UNKNOWN_TOKEN, assetId] as const);
  const statement = {
    ...(known ?? market!),
    clobTokenIds: known === undefined ? tokens : joinedTokens(known.clobTokenIds, tokens),
  };
  return [{ type: 'market', statement }, price];
}

/** The market of a trade, from its slug. Throws OtherMarket for one of another kind. */
function marketOf(
  trade: Fields,
  conditionId: string,
  nearMs: number,
  label: string | undefined,
): Omit<MarketStatement, 'clobTokenIds'> {
  const slug = optional(trade, 'slug', slugField);
  if (slug === undefined) throw new UnknownMarket(conditionId);
  const window = windowOfSlug(slug, nearMs);
  if (window === undefined || label === undefined) throw noMarket(slug, `its outcome is ${label}`);
  return { conditionId, slug, ...marketWindow(slug, window, []) };
}
