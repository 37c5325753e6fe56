import type { Json } from './bot-network.ts';

/** Gamma has lists as JSON in a text; bots accept a list too. */
export function listOf(value: Json): string[] {
  return typeof value === 'string' ? JSON.parse(value) : (value ?? []);
}

/** The tokens of the outcomes that are labelled Up and Down. */
export function tokensOf(market: Json): { readonly up: string; readonly down: string } {
  const tokens = listOf(market.clobTokenIds);
  const labels = listOf(market.outcomes).map((label) => label.toLowerCase());
  const of = (label: string) => tokens[labels.indexOf(label)];
  const [up, down] = [of('up'), of('down')];
  if (up === undefined || down === undefined) throw new Error(`no Up and Down in ${market.slug}`);
  return { up, down };
}

/** The best prices of a book in any order of its levels; undefined for an empty side. */
export function bestOf(book: Json): { readonly bid: number | undefined; readonly ask: number | undefined } {
  const prices = (levels: Json[] | undefined) => (levels ?? []).map(({ price }) => Number(price));
  const [bids, asks] = [prices(book.bids), prices(book.asks)];
  return {
    bid: bids.length === 0 ? undefined : Math.max(...bids),
    ask: asks.length === 0 ? undefined : Math.min(...asks),
  };
}

/** The market that is open at `nowMs` and ends first; else the next one. */
export function liveMarket(markets: readonly Json[], nowMs: number): Json | undefined {
  const ending = markets
    .filter(({ endDate }) => nowMs < Date.parse(endDate))
    .sort((a, b) => Date.parse(a.endDate) - Date.parse(b.endDate));
  return ending.find((market) => Date.parse(market.eventStartTime ?? market.startDate) <= nowMs) ?? ending[0];
}

/** The start of the window of `seconds` at an instant, in Unix seconds. */
export function windowStart(nowMs: number, seconds: number): number {
  return Math.floor(nowMs / 1000 / seconds) * seconds;
}

/** An exponential moving average of all values, from the first one on. */
export function ema(values: readonly number[], span: number): number[] {
  const alpha = 2 / (span + 1);
  const out: number[] = [];
  for (const value of values) out.push(out.length === 0 ? value : alpha * value + (1 - alpha) * out.at(-1)!);
  return out;
}

/** The differences of two averages, and of these from their own average. */
export function macd(closes: readonly number[]): { readonly line: number[]; readonly histogram: number[] } {
  const slow = ema(closes, 26);
  const line = ema(closes, 12).map((fast, index) => fast - slow[index]!);
  const signal = ema(line, 9);
  return { line, histogram: line.map((value, index) => value - signal[index]!) };
}

export interface BotCandle {
  readonly openMs: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  readonly volume: number;
}

/** The rows of Binance's klines. */
export function candlesOf(rows: Json): BotCandle[] {
  return rows.map((row: Json) => {
    const [open, high, low, close, volume] = row.slice(1, 6).map(Number);
    return { openMs: Number(row[0]), open, high, low, close, volume };
  });
}
