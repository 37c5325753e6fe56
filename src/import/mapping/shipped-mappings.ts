import bestPriceSnapshots from './shipped/best-price-snapshots.toml' with { type: 'text' };
import bidAskLiquidity from './shipped/bid-ask-liquidity.toml' with { type: 'text' };
import candles from './shipped/candles.toml' with { type: 'text' };
import orderbookSnapshots from './shipped/orderbook-snapshots.toml' with { type: 'text' };
import pmxtV1 from './shipped/pmxt-v1.toml' with { type: 'text' };
import priceHistories from './shipped/price-histories.toml' with { type: 'text' };
import yesNoBooks from './shipped/yes-no-books.toml' with { type: 'text' };

/** The mappings that come with the program: TOML by name. The first line of each is a comment that says what it reads. */
export const SHIPPED_MAPPINGS: Readonly<Record<string, string>> = {
  'best-price-snapshots': bestPriceSnapshots,
  'bid-ask-liquidity': bidAskLiquidity,
  candles,
  'orderbook-snapshots': orderbookSnapshots,
  'pmxt-v1': pmxtV1,
  'price-histories': priceHistories,
  'yes-no-books': yesNoBooks,
};

/** The first line of a shipped mapping, without the mark of a comment. */
function summaryOf(toml: string): string {
  return toml.split('\n', 1)[0]!.replace(/^# /, '');
}

/** The rows of the manual's table of mappings, as Markdown. */
export function mappingRows(): string {
  return Object.entries(SHIPPED_MAPPINGS)
    .map(([name, toml]) => `| [${name}](#${name}) | ${summaryOf(toml).replaceAll('|', '\\|')} |`)
    .join('\n');
}

/** The mappings themselves, as Markdown with a heading for each. */
export function mappingTexts(): string {
  return Object.entries(SHIPPED_MAPPINGS)
    .map(([name, toml]) => `### ${name}\n\n\`\`\`toml\n${toml}\`\`\``)
    .join('\n\n');
}
