import { isCoin } from '../../domain/coin.ts';
import { DomainError } from '../../domain/errors.ts';
import { instantField } from '../../record/fields.ts';
import { knownCoin } from '../../venue/slug.ts';
import type { Codec } from '../codec.ts';
import { hasColumns, readRows } from '../parse/csv.ts';
import { BINANCE, CHAINLINK, COINBASE, chainlinkTwap, coinPrice, feedPrice, PYTH } from '../parse/spot-price.ts';

/**
 * One price of one coin a row, about one a second: `feed_ts_ms` (Unix ms), `value` and, if there is one, `full_accuracy_value`.
 * The file's name says whose price it is. A second row of one time corrects the first: both are kept, and what was
 * received later comes later.
 */
const TIME = 'feed_ts_ms';
const VALUES = ['value', 'full_accuracy_value'];

const PUBLISHERS: readonly string[] = [CHAINLINK, BINANCE, COINBASE, PYTH];
/** Words of a name that say nothing of coin or publisher: `prices`, numbers of parts, dates. */
const FILLER = /^(?:prices?|spot|usdt?|part|\d+)$/;
const TWAP = /^twap-?(\d{1,5})s?$/;

export function spotCsv(): Codec {
  return {
    format: 'spot price CSV',
    input: 'CSV of reference prices (`btcusd-chainlink-….csv.gz`: the name says the coin and the source)',
    becomes: 'Coin prices.',
    recognises: (sample) => VALUES.some((value) => hasColumns(sample, [TIME, value])),
    read: async (file, sink) => {
      const series = seriesOf(file.name);
      if (series === undefined) {
        throw new DomainError(
          'unreadable',
          `'${file.path}' does not say whose prices it has: call it by coin and publisher, such as btcusd-chainlink-2026-06-08.csv`,
        );
      }
      await readRows(file, [TIME], sink, (line, row) => {
        sink.take('coin price', line, () => {
          const value = row();
          const timestampMs = instantField({ [TIME]: value(TIME) }, TIME);
          const price = feedPrice(value('value'), value('full_accuracy_value'));
          return [coinPrice(series.symbol, series.source, timestampMs, price)];
        });
      });
    },
  };
}

/**
 * From names like `btcusd-chainlink-2026-06-08.csv` and `BTC-prices-2026-07-24.csv`, where the publisher goes without saying:
 * this is how Chainlink's relay is recorded. Undefined when there is no coin, or a word that may name another publisher.
 */
function seriesOf(fileName: string): { readonly symbol: string; readonly source: string } | undefined {
  const [pair = '', ...words] = fileName
    .toLowerCase()
    .replace(/\.csv$/, '')
    .split(/[-_.]/);
  const symbol = coinOfWord(pair, words[0] === 'prices');
  const said = words.filter((word) => !FILLER.test(word) && word !== CHAINLINK);
  if (symbol === undefined || said.length > 1) return undefined;
  const [word = CHAINLINK] = said;
  const seconds = TWAP.exec(word)?.[1];
  if (seconds !== undefined) return { symbol, source: chainlinkTwap(Number(seconds)) };
  return PUBLISHERS.includes(word) ? { symbol, source: word } : undefined;
}

/** `btc`, `bitcoin`, `btcusd`; any code where the name says that prices follow. */
function coinOfWord(word: string, isCode: boolean): string | undefined {
  const code = word.replace(/usdt?$/, '');
  return knownCoin(code) ?? ((isCode || code !== word) && isCoin(code) ? code : undefined);
}
