import { knownCoin, parseCoin } from '../../domain/coin.ts';
import { BINANCE, CHAINLINK, COINBASE, chainlinkTwap, PYTH } from '../../domain/publisher.ts';
import { arrivalMs } from '../../record/arrival-field.ts';
import { type Fields, instantField } from '../../record/fields.ts';
import type { Codec } from '../codec.ts';
import { csvRows } from '../mapping/text-rows.ts';
import { hasColumns } from '../parse/csv.ts';
import { coinPrice, feedPrice } from '../parse/spot-price.ts';
import { unreadable } from '../source.ts';

const TIME = 'feed_ts_ms';
const VALUES = ['value', 'full_accuracy_value'];

const PUBLISHERS: readonly string[] = [CHAINLINK, BINANCE, COINBASE, PYTH];
/** Words of a file name that are neither a coin nor a publisher: `prices`, part numbers, dates. */
const FILLER = /^(?:prices?|spot|usdt?|part|\d+)$/;
const TWAP = /^twap-?(\d{1,5})s?$/;

/**
 * CSV of the price of one coin, about one row per second: `feed_ts_ms` (Unix ms), `value` and optionally `full_accuracy_value`. The
 * file's name states the coin and the publisher. A second row of the same time is a correction: both are stored, in their order.
 */
export function spotCsv(): Codec {
  return {
    format: 'spot price CSV',
    input: 'CSV of reference prices (`btcusd-chainlink-….csv.gz`: the name states the coin and the source)',
    becomes: 'Coin prices.',
    lines: 'csv',
    recognises: (sample) => VALUES.some((value) => hasColumns(sample, [TIME, value])),
    read: async (file, sink) => {
      const series = seriesOf(file.name);
      if (series === undefined) {
        throw unreadable(
          `'${file.path}' does not name the coin and publisher of its prices: rename it, for example to btcusd-chainlink-2026-06-08.csv`,
        );
      }
      const priceOf = (row: Fields) => {
        const timestampMs = instantField(row, TIME);
        const price = feedPrice(row.value, row.full_accuracy_value);
        return { ...coinPrice(series.symbol, series.source, timestampMs, price), receivedMs: arrivalMs(row.recv_ms) };
      };
      const rows = csvRows(file, { onHeader: () => sink.ignore('header') });
      const further = [...VALUES, 'recv_ms'];
      await rows.read(
        [TIME, ...further],
        ({ number, fields }) => sink.take('coin price', number, () => [priceOf(fields())]),
        further,
      );
    },
  };
}

/**
 * The coin and publisher in names like `btcusd-chainlink-2026-06-08.csv`. Without a publisher it is Chainlink, as in
 * `BTC-prices-2026-07-24.csv`. Undefined if there is no coin, or a word that may name another publisher.
 */
function seriesOf(fileName: string): { readonly symbol: string; readonly source: string } | undefined {
  const [pair = '', ...words] = fileName
    .toLowerCase()
    .replace(/\.csv$/, '')
    .split(/[-_.]/);
  const symbol = coinOfWord(pair, words[0] === 'prices');
  const publishers = words.filter((word) => !FILLER.test(word) && word !== CHAINLINK);
  if (symbol === undefined || publishers.length > 1) return undefined;
  const [word = CHAINLINK] = publishers;
  const seconds = TWAP.exec(word)?.[1];
  if (seconds !== undefined) return { symbol, source: chainlinkTwap(Number(seconds)) };
  return PUBLISHERS.includes(word) ? { symbol, source: word } : undefined;
}

/** The coin of `btc`, `bitcoin` or `btcusd`; with `isCode`, of any valid coin code. */
function coinOfWord(word: string, isCode: boolean): string | undefined {
  const code = word.replace(/usdt?$/, '');
  return isCode || code !== word ? parseCoin(code) : knownCoin(code);
}
