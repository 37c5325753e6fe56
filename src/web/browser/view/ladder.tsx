import type { JSX } from 'preact';
import type { Level, Snapshot } from '../../../client/segment-reader.ts';
import { decimalPlaces, runningSums } from '../../../domain/decimal.ts';
import { spreadOf } from '../../../domain/quote.ts';
import { clockText } from './market-texts.ts';
import type { OwnOrder } from './own-orders.ts';
import { countText } from './view-texts.ts';

interface LadderContent {
  readonly outcome: string;
  /** Undefined: nothing is recorded at or before the instant. */
  readonly snapshot: Snapshot | undefined;
  /** Why the book of the instant is not known; undefined: it is. */
  readonly unknown: string | undefined;
  /** Those of the accounts of a replay; they are not in the book. */
  readonly own: readonly OwnOrder[];
  /** The levels of each side that were asked for. */
  readonly depth: number;
  /** The start of the market. */
  readonly startMs: number;
}

type Texts = Readonly<Record<'prices' | 'shares', Intl.NumberFormat>>;

/** The reason why the book is not known, the last book, and the open orders of the outcome. */
export function Ladder({ outcome, snapshot, unknown, own, depth, startMs }: LadderContent) {
  const name = outcome === 'up' ? 'Up' : 'Down';
  const open = own.filter((order) => order.isOpen && order.outcome === outcome);
  return (
    <>
      {unknown !== undefined && (
        <p class="notice warn small">
          {name}: {unknown}
        </p>
      )}
      {snapshot !== undefined && <Levels {...{ outcome, name, snapshot, depth, startMs }} />}
      {open.map(({ side, shares, price }) => (
        <p class="small">{`${name}, open: ${side} ${shares} at ${price}`}</p>
      ))}
    </>
  );
}

type LevelsContent = Readonly<Record<'outcome' | 'name', string>> & {
  readonly snapshot: Snapshot;
  readonly depth: number;
  readonly startMs: number;
};

/** Asks above bids, the best prices in the middle. */
function Levels({ outcome, name, snapshot, depth, startMs }: LevelsContent) {
  const { bids, asks } = snapshot;
  const all = [...bids, ...asks];
  const texts = {
    prices: alignedFormat(all.map(({ price }) => price)),
    shares: alignedFormat(all.map(({ size }) => size)),
  };
  const [bidSums, askSums] = [sumsOf(bids), sumsOf(asks)];
  const most = Math.max(bidSums.at(-1) ?? 0, askSums.at(-1) ?? 0);
  return (
    <table class="ladder" data-outcome={outcome}>
      <caption>
        {name} <span class="quiet">book of {clockText(Date.parse(snapshot.timestamp), startMs)}</span>
      </caption>
      <thead>
        <tr>
          <th scope="col">Price</th>
          <th scope="col" class="number">
            Shares
          </th>
          <th scope="col" class="number">
            Sum
          </th>
        </tr>
      </thead>
      {sideOf('asks', asks.map((level, nth) => rowOf('ask', level, texts, askSums[nth]!, most)).toReversed(), depth)}
      <tbody class="middle">
        <tr>
          <td colSpan={3}>{spreadText(bids[0], asks[0])}</td>
        </tr>
      </tbody>
      {sideOf(
        'bids',
        bids.map((level, nth) => rowOf('bid', level, texts, bidSums[nth]!, most)),
        depth,
      )}
    </table>
  );
}

/** The levels of a side; at its far end, how many there are if more were asked for. */
function sideOf(name: 'asks' | 'bids', rows: readonly JSX.Element[], depth: number) {
  const end = rows.length < depth && (
    <tr>
      <td colSpan={3} class="quiet">
        {rows.length === 0 ? `no ${name}` : `${countText(rows.length, 'level')} recorded`}
      </td>
    </tr>
  );
  return (
    <tbody class={name}>
      {name === 'asks' && end}
      {rows}
      {name === 'bids' && end}
    </tbody>
  );
}

/** Rows keep their places: only texts change while the instant moves. */
function rowOf(side: 'bid' | 'ask', { price, size }: Level, texts: Texts, sum: number, most: number) {
  const { prices, shares } = texts;
  return (
    <tr class={side}>
      <th scope="row">{prices.format(price)}</th>
      <td class="number">{shares.format(size)}</td>
      <td class="number sum" style={{ backgroundSize: `${((100 * sum) / most).toFixed(1)}% 100%` }}>
        {shares.format(sum)}
      </td>
    </tr>
  );
}

/** Writes all `values`, and sums of them, with as many decimals as the longest one has: their points are below each other. */
function alignedFormat(values: readonly number[]): Intl.NumberFormat {
  const places = Math.max(0, ...values.map((value) => decimalPlaces(value) ?? 0));
  return new Intl.NumberFormat('en-US', { minimumFractionDigits: places, maximumFractionDigits: places });
}

function sumsOf(side: readonly Level[]): number[] {
  return runningSums(side.map(({ size }) => size));
}

function spreadText(bid: Level | undefined, ask: Level | undefined): string {
  const spread = spreadOf({ bidPrice: bid?.price, askPrice: ask?.price });
  if (spread === undefined) return (bid ?? ask) === undefined ? 'no orders recorded' : 'one-sided';
  return spread < 0 ? `crossed by ${-spread}` : `spread ${spread}`;
}
