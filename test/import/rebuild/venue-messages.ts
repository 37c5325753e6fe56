import { createHash } from 'node:crypto';
import type { Outcome } from '../../../src/domain/outcome.ts';
import type { RecordedItem } from '../../../src/record/record.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, UP_ASSET } from '../../support/sample-records.ts';

export type Frame = Readonly<Record<string, unknown>>;
/** Price and size, as the venue writes them. */
export type Level = readonly [price: string, size: string];

/** A level of a record. */
type NumberLevel = readonly [price: number, size: number];

/** A snapshot for comparisons: best level first. */
export interface Seen {
  readonly timestampMs: number;
  readonly bids: readonly NumberLevel[];
  readonly asks: readonly NumberLevel[];
}

/** Milliseconds after the window's start as the venue's timestamp. */
export function at(offsetMs: number): string {
  return String(START_MS + offsetMs);
}

/** Levels as pairs, or as a text: `0.4:10 0.48:30` is 10 at 0.4 and 30 at 0.48. */
type Side = string | readonly Level[];

const pairsOf = (side: string) =>
  side === '' ? [] : side.split(' ').map((level) => level.split(':') as [price: string, size: string]);

const levels = (side: Side) =>
  (typeof side === 'string' ? pairsOf(side) : side).map(([price, size]) => ({ price, size }));

/** A book message as after a trade, best level last. */
export function book(offsetMs: number, bids: Side, asks: Side, fields: Frame = {}): Frame {
  return {
    market: CONDITION_ID,
    asset_id: UP_ASSET,
    bids: levels(bids),
    asks: levels(asks),
    timestamp: at(offsetMs),
    event_type: 'book',
    ...fields,
  };
}

export interface ChangeEntry {
  readonly price: string;
  readonly size: string;
  readonly side: 'BUY' | 'SELL';
  readonly asset?: string;
  readonly hash?: string;
}

/** A price_change in its current shape. */
export function change(offsetMs: number, ...entries: readonly ChangeEntry[]): Frame {
  return {
    market: CONDITION_ID,
    price_changes: entries.map(({ asset = UP_ASSET, ...entry }) => ({ asset_id: asset, ...entry })),
    timestamp: at(offsetMs),
    event_type: 'price_change',
  };
}

export function buy(price: string, size: string): ChangeEntry {
  return { price, size, side: 'BUY' };
}

export function sell(price: string, size: string): ChangeEntry {
  return { price, size, side: 'SELL' };
}

/** The venue's hash of a book, by its definition. */
export function venueHash(frame: Frame, tail: { readonly tick?: string; readonly lastTrade?: string } = {}): string {
  const { market, asset_id, timestamp, bids, asks } = frame;
  const hashed = {
    ...{ market, asset_id, timestamp, hash: '', bids, asks },
    min_order_size: '5',
    tick_size: tail.tick ?? '0.01',
    neg_risk: false,
    last_trade_price: tail.lastTrade ?? '',
  };
  return createHash('sha1').update(JSON.stringify(hashed)).digest('hex');
}

/** Sides as texts of levels, best first. */
export function seen(offsetMs: number, bids: string, asks: string): Seen {
  const numbers = (side: string) => pairsOf(side).map(([price, size]) => [Number(price), Number(size)] as const);
  return { timestampMs: START_MS + offsetMs, bids: numbers(bids), asks: numbers(asks) };
}

/** The snapshots of one outcome among records, in their order. */
export function snapshotsOf(items: readonly RecordedItem[], outcome: Outcome, conditionId = CONDITION_ID): Seen[] {
  return items.flatMap((item) => {
    if (item.type !== 'snapshot' || item.outcome !== outcome || item.conditionId !== conditionId) return [];
    const { bidPrices, bidSizes, askPrices, askSizes } = item.book;
    const paired = (prices: readonly number[], sizes: readonly number[]) =>
      prices.map((price, index) => [price, sizes[index]!] as const);
    return [{ timestampMs: item.timestampMs, bids: paired(bidPrices, bidSizes), asks: paired(askPrices, askSizes) }];
  });
}

/** Gaps with their times counted from the window's start. */
export function gapsOf(items: readonly RecordedItem[]): { from: number; to: number; reason: string }[] {
  return items.flatMap((item) => {
    if (item.type !== 'gap') return [];
    const { fromMs, toMs, reason } = item.gap;
    return [{ from: fromMs - START_MS, to: toMs - START_MS, reason }];
  });
}

/** The asset, the time and the effect of a message: `levels` are set; a whole book replaces all others. */
interface Step {
  readonly asset: string;
  readonly timestampMs: number;
  readonly isBook: boolean;
  readonly set: readonly { readonly side: 'BUY' | 'SELL'; readonly price: number; readonly size: number }[];
}

/**
 * Rebuilds books naively, by asset: sorts all messages by timestamp, full books last, and compares the whole book after each
 * timestamp.
 */
export function naiveSnapshots(frames: readonly Frame[], everyMs: number): Map<string, Seen[]> {
  const steps = frames.flatMap(stepsOf);
  const result = new Map<string, Seen[]>();
  for (const asset of new Set(steps.map((step) => step.asset))) {
    const own = steps.filter((step) => step.asset === asset);
    own.sort((a, b) => a.timestampMs - b.timestampMs || Number(a.isBook) - Number(b.isBook));
    const states = statesOf(own).filter((state, index, all) => !isSame(state, all[index - 1]));
    const lastOfStretch = states.filter((state, index) => {
      const next = states[index + 1];
      return next === undefined || Math.floor(state.timestampMs / everyMs) !== Math.floor(next.timestampMs / everyMs);
    });
    result.set(
      asset,
      lastOfStretch.filter((state, index, all) => !isSame(state, all[index - 1])),
    );
  }
  return result;
}

function stepsOf(frame: Frame): Step[] {
  const timestampMs = Number(frame.timestamp);
  if (frame.event_type === 'book') {
    const side = (name: 'BUY' | 'SELL', all: unknown) =>
      (all as { price: string; size: string }[]).map((l) => ({
        side: name,
        price: Number(l.price),
        size: Number(l.size),
      }));
    const set = [...side('BUY', frame.bids), ...side('SELL', frame.asks)];
    return [{ asset: String(frame.asset_id), timestampMs, isBook: true, set }];
  }
  if (frame.event_type !== 'price_change') return [];
  return (frame.price_changes as { asset_id: string; price: string; size: string; side: 'BUY' | 'SELL' }[]).map(
    (entry) => ({
      asset: entry.asset_id,
      timestampMs,
      isBook: false,
      set: [{ side: entry.side, price: Number(entry.price), size: Number(entry.size) }],
    }),
  );
}

/** The state after each timestamp, from the first full book on. */
function statesOf(steps: readonly Step[]): Seen[] {
  const sides = { BUY: new Map<number, number>(), SELL: new Map<number, number>() };
  const states: Seen[] = [];
  let isKnown = false;
  for (const [index, step] of steps.entries()) {
    if (step.isBook) {
      sides.BUY.clear();
      sides.SELL.clear();
      isKnown = true;
    }
    for (const { side, price, size } of step.set) {
      if (size === 0) sides[side].delete(price);
      else sides[side].set(price, size);
    }
    if (!isKnown || steps[index + 1]?.timestampMs === step.timestampMs) continue;
    states.push({
      timestampMs: step.timestampMs,
      bids: [...sides.BUY].sort(([a], [b]) => b - a),
      asks: [...sides.SELL].sort(([a], [b]) => a - b),
    });
  }
  return states;
}

function isSame(a: Seen, b: Seen | undefined): boolean {
  return b !== undefined && JSON.stringify([a.bids, a.asks]) === JSON.stringify([b.bids, b.asks]);
}

/** The market record of the messages' market, for a sink that knows it. */
export const MARKET: Extract<RecordedItem, { type: 'market' }> = {
  type: 'market',
  statement: {
    conditionId: CONDITION_ID,
    slug: 'btc-updown-5m-1776323400',
    symbol: 'btc',
    timeframe: '5m',
    clobTokenIds: [UP_ASSET, DOWN_ASSET],
    startMs: START_MS,
    endMs: START_MS + 300_000,
  },
};
