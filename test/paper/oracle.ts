import type { InstantMs } from '../../src/domain/instant.ts';
import { type Outcome, otherOutcome } from '../../src/domain/outcome.ts';
import type { TradeSide } from '../../src/domain/trade.ts';
import type { AccountEvent, Evidence, Fill } from '../../src/paper/account-event.ts';
import type { FeeSchedule, Micros } from '../../src/paper/micros.ts';
import type { OrderTerms, Refusal } from '../../src/paper/paper-order.ts';
import { exactOf } from '../support/exact.ts';

/** An action of an account, at the instant at which it sends it. */
export type Action = { readonly account: string; readonly atMs: InstantMs } & (
  | { readonly kind: 'order'; readonly terms: OrderTerms }
  | { readonly kind: 'cancel'; readonly orderId: string }
  /** Acts at once, and not at all if fewer pairs are free. */
  | { readonly kind: 'merge'; readonly shares: Micros }
);

export interface Rules {
  readonly latencyMs: number;
  readonly takerDelayMs: number;
  readonly queue: 'behind' | 'mid' | 'front';
  readonly fees: FeeSchedule;
}

/** The fields of lines of an NDJSON export that matching needs. */
export interface Row {
  readonly type: string;
  readonly id?: string;
  readonly outcome?: Outcome;
  readonly timestamp?: string;
  readonly bids?: readonly { readonly price: number; readonly size: number }[];
  readonly asks?: readonly { readonly price: number; readonly size: number }[];
  readonly kind?: string;
  readonly price?: number;
  readonly size?: number;
  readonly side?: TradeSide;
  readonly from?: string;
  readonly to?: string;
  readonly endTime?: string;
  readonly resolvedAt?: string;
  readonly winner?: Outcome | null;
}

/** A side of a book. */
type Side = 'bids' | 'asks';
const OPPOSITE = { bids: 'asks', asks: 'bids' } as const;

/** Prices are integers of 10^-12, shares and dollars of 10^-6. */
interface Level {
  readonly price: number;
  readonly size: number;
}

interface Book {
  readonly id: number;
  readonly atMs: InstantMs;
  readonly recordedFor: Outcome;
  /** Best first. */
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

interface Trade {
  readonly id: number;
  readonly atMs: InstantMs;
  readonly outcome: Outcome;
  readonly side: TradeSide;
  readonly price: number;
  readonly shares: Micros;
}

const ONE = 10n ** 12n;
/** A trade is dated up to this much after the book that it changed. */
const LATE_MS = 30;
const MINUTE_MS = 60_000;

/** value · 10^places, downwards. */
function scaled(value: number, places: number): number {
  const { digits, exponent } = exactOf(value);
  const power = exponent + places;
  return Number(power >= 0 ? digits * 10n ** BigInt(power) : digits / 10n ** BigInt(-power));
}

const priceUnits = (price: number) => scaled(price, 12);
const complementOf = (units: number) => 1e12 - units;
const minimum = (values: readonly number[]) => values.reduce((a, b) => Math.min(a, b), Infinity);
const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

function costOf(side: TradeSide, shares: Micros, price: number): Micros {
  const product = BigInt(shares) * BigInt(price);
  const down = product / ONE;
  return Number(side === 'buy' && product % ONE !== 0n ? down + 1n : down);
}

/** The formula of the fee as a fraction, then floored to 5 decimals. */
function feeOf(shares: Micros, price: number, { rate, exponent }: FeeSchedule): Micros {
  const power = BigInt(exponent);
  const numerator = BigInt(shares) * BigInt(scaled(rate, 12)) * (BigInt(price) * (ONE - BigInt(price))) ** power;
  return Number((numerator / (ONE * ONE ** (2n * power) * 10n)) * 10n);
}

/** A market's recording as tables: nothing here depends on orders. */
export class RecordedMarket {
  readonly endMs: InstantMs;
  readonly settledMs: InstantMs;
  readonly winner: Outcome | undefined;
  /** The instants with a book, ascending, and for each of them both outcomes' books at its end. */
  readonly instants: readonly InstantMs[];
  readonly books: readonly Readonly<Record<Outcome, Book | undefined>>[];
  readonly trades: readonly Trade[];
  readonly gaps: readonly { readonly fromMs: InstantMs; readonly toMs: InstantMs }[];
  readonly #columns = new Map<string, readonly number[]>();
  readonly #positions = new Map<InstantMs, number>();

  /** `rows` are all of one market, in any order. */
  constructor(rows: readonly Row[]) {
    const market = rows.find(({ type }) => type === 'market')!;
    this.endMs = Date.parse(market.endTime!);
    this.winner = market.winner ?? undefined;
    this.settledMs = market.resolvedAt == null ? this.endMs : Date.parse(market.resolvedAt);
    const inOrder = <T extends { readonly atMs: InstantMs; readonly id: number }>(records: readonly T[]): T[] =>
      records.toSorted((a, b) => a.atMs - b.atMs || a.id - b.id);
    const own = inOrder(rows.filter(({ type }) => type === 'snapshot').map(bookOf));
    this.instants = [...new Set(own.map(({ atMs }) => atMs))].sort((a, b) => a - b);
    this.books = this.instants.map((atMs) => ({ up: latest(own, 'up', atMs), down: latest(own, 'down', atMs) }));
    const traded = rows.filter(({ kind, size, side }) => kind === 'trade' && size !== undefined && side !== undefined);
    this.trades = inOrder(traded.map(tradeOf));
    this.gaps = rows
      .filter(({ type }) => type === 'gap')
      .map(({ from, to }) => ({ fromMs: Date.parse(from!), toMs: Date.parse(to!) }));
  }

  /** The position of the last instant with a book; -1 before the first. */
  at(nowMs: InstantMs): number {
    let position = this.#positions.get(nowMs);
    if (position === undefined) {
      position = this.instants.findLastIndex((atMs) => atMs <= nowMs);
      this.#positions.set(nowMs, position);
    }
    return position;
  }

  isInGap(nowMs: InstantMs): boolean {
    return this.gaps.some(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs);
  }

  bookAt(outcome: Outcome, nowMs: InstantMs): Book | undefined {
    return this.books[this.at(nowMs)]?.[outcome];
  }

  /** The size of a level at the end of every instant; 0 where it is not there. */
  column(outcome: Outcome, side: Side, price: number): readonly number[] {
    const key = `${outcome} ${side} ${price}`;
    const known = this.#columns.get(key);
    if (known !== undefined) return known;
    const sizes = this.books.map(
      ({ [outcome]: book }) => book?.[side].find((level) => level.price === price)?.size ?? 0,
    );
    this.#columns.set(key, sizes);
    return sizes;
  }

  sizeAt(outcome: Outcome, side: Side, price: number, nowMs: InstantMs): number {
    return this.column(outcome, side, price)[this.at(nowMs)] ?? 0;
  }

  /** The last instant at whose end the level differed, in either outcome's book, from the end of the instant before. */
  changedMs(outcome: Outcome, side: Side, price: number, nowMs: InstantMs): InstantMs {
    const own = this.column(outcome, side, price);
    const other = this.column(otherOutcome(outcome), OPPOSITE[side], complementOf(price));
    for (let i = this.at(nowMs); i > 0; i -= 1) {
      if (own[i] !== own[i - 1] || other[i] !== other[i - 1]) return this.instants[i]!;
    }
    return -Infinity;
  }
}

function bookOf(row: Row): Book {
  const levels = (side: readonly { price: number; size: number }[]) =>
    side.map(({ price, size }) => ({ price: priceUnits(price), size: scaled(size, 6) }));
  return {
    id: Number(row.id),
    atMs: Date.parse(row.timestamp!),
    recordedFor: row.outcome!,
    bids: levels(row.bids!).sort((a, b) => b.price - a.price),
    asks: levels(row.asks!).sort((a, b) => a.price - b.price),
  };
}

function tradeOf({ id, timestamp, outcome, side, price, size }: Row): Trade {
  return {
    id: Number(id),
    atMs: Date.parse(timestamp!),
    outcome: outcome!,
    side: side!,
    price: price!,
    shares: scaled(size!, 6),
  };
}

/** The later of the own and the mirrored book; of the same instant, the own. */
function latest(books: readonly Book[], outcome: Outcome, nowMs: InstantMs): Book | undefined {
  const until = (of: Outcome) => books.findLast(({ recordedFor, atMs }) => recordedFor === of && atMs <= nowMs);
  const [own, other] = [until(outcome), until(otherOutcome(outcome))];
  if (other === undefined || (own !== undefined && own.atMs >= other.atMs)) return own;
  const mirrored = (levels: readonly Level[]) =>
    levels.map(({ price, size }) => ({ price: complementOf(price), size }));
  return { ...other, bids: mirrored(other.asks), asks: mirrored(other.bids) };
}

type EventOf<K extends AccountEvent['kind']> = Extract<AccountEvent, { kind: K }>;
type OrderEventOf = Exclude<AccountEvent, { kind: 'deposit' | 'settled' | 'merged' }>;

/** An order that arrived. Everything about its state is in its events. */
interface Order {
  readonly terms: OrderTerms;
  readonly price: number;
  readonly arrivedMs: InstantMs;
  readonly events: OrderEventOf[];
}

/** Everything that accounts have, from their events alone. */
export function balancesOf(events: readonly AccountEvent[]) {
  const balances = { cash: 0, up: 0, down: 0 };
  for (const event of events) {
    if (event.kind === 'deposit') balances.cash += event.dollars;
    if (event.kind === 'settled' || event.kind === 'merged') {
      balances.cash += event.dollars;
      balances.up -= event.shares.up;
      balances.down -= event.shares.down;
    }
    if (event.kind !== 'fill') continue;
    const { order, fill } = event;
    const sign = order.side === 'buy' ? 1 : -1;
    balances.cash -= sign * fill.cost + fill.fee;
    balances[order.outcome] += sign * fill.shares;
  }
  return balances;
}

class OracleAccount {
  readonly events: AccountEvent[] = [];
  readonly orders: Order[] = [];
  /** Those that came to rest, in this order. */
  readonly rested: Order[] = [];
  readonly recording: RecordedMarket;
  readonly rules: Rules;
  readonly marketKey: number;

  constructor(recording: RecordedMarket, rules: Rules, marketKey: number, deposit: EventOf<'deposit'>) {
    this.recording = recording;
    this.rules = rules;
    this.marketKey = marketKey;
    this.events.push(deposit);
  }

  /** Dollars held by open BUYs, shares held by open SELLs of the outcome. */
  reserved(side: TradeSide, outcome: Outcome): Micros {
    const held = this.orders.filter(
      ({ terms }) => terms.side === side && (side === 'buy' || terms.outcome === outcome),
    );
    return sum(
      held.filter(isOpen).map((order) => (side === 'sell' ? leftOf(order) : this.#needed(order, leftOf(order)))),
    );
  }

  /** The dollars that a BUY may cost at its limit, with the fee. */
  #needed({ terms, price }: Order, left: Micros): Micros {
    if (!isInDollars(terms)) return costOf('buy', left, price) + feeOf(left, price, this.rules.fees);
    return left + feeOf(Number((BigInt(left) * ONE) / BigInt(price)), price, this.rules.fees);
  }

  arrive(terms: OrderTerms, nowMs: InstantMs): void {
    const order: Order = { terms, price: priceUnits(terms.price), arrivedMs: nowMs, events: [] };
    const refusal = this.#refusal(order, nowMs);
    const isKnown = this.#has(terms.id);
    if (!isKnown) this.orders.push(order);
    if (refusal !== undefined) this.#add(order, { kind: 'refused', refusal, ...this.#context(order, nowMs) });
    else if (this.rules.takerDelayMs > 0 && this.#isMarketable(order, nowMs)) {
      this.#add(order, { kind: 'delayed', ...this.#context(order, nowMs) });
    } else this.#match(order, nowMs);
  }

  /** An order with this id was not refused. */
  #has(wanted: string): boolean {
    return this.orders.some(({ terms: { id }, events }) => id === wanted && events.at(-1)?.kind !== 'refused');
  }

  #refusal(order: Order, nowMs: InstantMs): Refusal | undefined {
    const { terms } = order;
    if (nowMs >= this.recording.endMs) return { reason: 'ended' };
    if (this.recording.bookAt(terms.outcome, nowMs) === undefined) return { reason: 'not-ready' };
    if (this.#has(terms.id)) return { reason: 'duplicate' };
    if (terms.type === 'GTD' && terms.expirationMs! - nowMs < MINUTE_MS) return { reason: 'expiration' };
    const { cash, ...shares } = balancesOf(this.events);
    const reserved = this.reserved(terms.side, terms.outcome);
    const balance = terms.side === 'buy' ? cash : shares[terms.outcome];
    let needed = terms.side === 'buy' ? this.#needed(order, terms.amount) : terms.amount;
    if (isInDollars(terms)) needed = Math.max(needed, sum(this.#walk(order, nowMs).map(({ cost, fee }) => cost + fee)));
    if (needed > balance - reserved) return { reason: 'funds', balance, reserved, needed };
    if (terms.isPostOnly && this.#isMarketable(order, nowMs)) return { reason: 'post-only' };
    return undefined;
  }

  #isMarketable(order: Order, nowMs: InstantMs): boolean {
    return this.#available(order, nowMs).length > 0;
  }

  /** The opposite levels at the limit or better, best first, less what this account took since each of them changed. */
  #available({ terms, price: limit }: Order, nowMs: InstantMs) {
    const book = this.recording.bookAt(terms.outcome, nowMs);
    if (book === undefined || this.recording.isInGap(nowMs)) return [];
    const side = terms.side === 'buy' ? 'asks' : 'bids';
    return book[side]
      .filter(({ price }) => (terms.side === 'buy' ? price <= limit : price >= limit))
      .map(({ price, size }) => ({ book, price, size, taken: this.#taken(terms.outcome, side, price, nowMs) }))
      .filter(({ size, taken }) => size > taken);
  }

  #taken(outcome: Outcome, side: Side, price: number, nowMs: InstantMs): Micros {
    const fills = this.events.filter((event): event is EventOf<'fill'> => {
      if (event.kind !== 'fill' || event.fill.evidence.kind !== 'book') return false;
      const isOwn = event.order.outcome === outcome;
      const took = event.order.side === 'buy' ? 'asks' : 'bids';
      const level = priceUnits(event.fill.evidence.price);
      return (isOwn ? took : OPPOSITE[took]) === side && (isOwn ? level : complementOf(level)) === price;
    });
    if (fills.length === 0) return 0;
    const sinceMs = this.recording.changedMs(outcome, side, price, nowMs);
    return sum(fills.filter(({ atMs }) => atMs >= sinceMs).map(({ fill }) => fill.shares));
  }

  /** The fills of a taker. */
  #walk(order: Order, nowMs: InstantMs): Omit<Fill, 'number'>[] {
    const { terms } = order;
    let left = terms.amount;
    const fills: Omit<Fill, 'number'>[] = [];
    for (const { book, price, size, taken } of this.#available(order, nowMs)) {
      if (left === 0) break;
      const available = size - taken;
      const affordable = Number((BigInt(left) * ONE) / BigInt(price));
      const isWhole = isInDollars(terms) ? costOf('buy', available, price) <= left : available <= left;
      const shares = isWhole ? available : isInDollars(terms) ? affordable : left;
      const cost = costOf(terms.side, shares, price);
      const fee = feeOf(shares, price, this.rules.fees);
      const evidence = evidenceOf(book, price, size, taken);
      fills.push({ role: 'taker', price: price / 1e12, shares, cost, fee, evidence });
      left -= isInDollars(terms) ? cost : shares;
      if (!isWhole) break;
    }
    return fills;
  }

  #match(order: Order, nowMs: InstantMs): void {
    const { terms } = order;
    const wasDelayed = order.events.length > 0;
    const fills = this.#walk(order, nowMs);
    if (wasDelayed && isInDollars(terms)) {
      // All that the other orders leave.
      const { cash } = balancesOf(this.events);
      const free = cash - this.reserved('buy', terms.outcome) + this.#needed(order, terms.amount);
      if (sum(fills.map(({ cost, fee }) => cost + fee)) > free) {
        this.#close(order, 'killed', nowMs);
        return;
      }
    }
    const left = terms.amount - sum(fills.map(({ cost, shares }) => (isInDollars(terms) ? cost : shares)));
    const reason =
      terms.type === 'FOK' && left > 0 ? 'short' : terms.type === 'FAK' && fills.length === 0 ? 'none' : undefined;
    if (reason !== undefined) {
      if (wasDelayed) this.#close(order, 'killed', nowMs);
      else this.#add(order, { kind: 'refused', refusal: { reason }, ...this.#context(order, nowMs) });
      return;
    }
    for (const fill of fills) this.#fill(order, fill, nowMs);
    if (left > 0 && terms.type === 'FAK') this.#close(order, 'matched', nowMs);
    if (!isOpen(order) && order.events.length > 0) return;
    const side = terms.side === 'buy' ? 'bids' : 'asks';
    const recorded = this.recording.sizeAt(terms.outcome, side, order.price, nowMs);
    const queue = { behind: recorded, mid: Math.floor(recorded / 2), front: 0 }[this.rules.queue];
    const hasFailed = wasDelayed && fills.length === 0;
    this.#add(order, { kind: 'live', left, queue, hasFailed, ...this.#context(order, nowMs) });
    this.rested.push(order);
  }

  #fill(order: Order, fill: Omit<Fill, 'number'>, nowMs: InstantMs): void {
    const number = 1 + this.events.filter(({ kind }) => kind === 'fill').length;
    const left = leftOf(order) - (isInDollars(order.terms) ? fill.cost : fill.shares);
    this.#add(order, { kind: 'fill', fill: { number, ...fill }, left, ...this.#context(order, nowMs) });
    if (left === 0) this.#close(order, 'matched', nowMs);
  }

  #close(order: Order, state: EventOf<'closed'>['state'], nowMs: InstantMs): void {
    this.#add(order, { kind: 'closed', state, left: leftOf(order), ...this.#context(order, nowMs) });
  }

  #context({ terms }: Order, atMs: InstantMs) {
    return { atMs, marketKey: this.marketKey, order: terms };
  }

  #add(order: Order, event: OrderEventOf): void {
    order.events.push(event);
    this.events.push(event);
  }

  /** The resting orders of one side of Up's book, best price first, then in the order in which they came to rest. */
  #resting(side: Side): Order[] {
    return this.rested.filter((order) => isOpen(order) && upSide(order) === side).sort((a, b) => advantage(b, a));
  }

  trade(trade: Trade): void {
    if (this.recording.isInGap(trade.atMs)) return;
    let rest = trade.shares;
    for (const order of this.#resting(hitBy(trade).side).filter((resting) => isConcerned(resting, trade))) {
      const queue = this.#queueAt(order, trade);
      const shares = Math.min(leftOf(order), Math.max(0, rest - queue));
      if (shares === 0) continue;
      rest -= shares;
      const evidence: Evidence = { kind: 'trade', ...trade, queue };
      const cost = costOf(order.terms.side, shares, order.price);
      this.#fill(order, { role: 'maker', price: order.terms.price, shares, cost, fee: 0, evidence }, trade.atMs);
    }
  }

  /** The recorded shares that were ahead of an order that rests at a trade. */
  #queueAt(order: Order, trade: Trade): Micros {
    const { instants, trades } = this.recording;
    const live = liveOf(order)!;
    const sizes = this.recording.column(order.terms.outcome, order.terms.side === 'buy' ? 'bids' : 'asks', order.price);
    const capBefore = (endMs: InstantMs) =>
      minimum(
        sizes.filter((size, i) => size !== (sizes[i - 1] ?? 0) && instants[i]! > live.atMs && instants[i]! < endMs),
      );
    let queue = live.queue;
    for (const earlier of trades.slice(0, trades.indexOf(trade))) {
      if (!isConcerned(order, earlier)) continue;
      queue = Math.min(queue, capBefore(earlier.atMs - LATE_MS));
      queue = Math.max(0, queue - (earlier.shares - this.#filledAhead(order, earlier)));
    }
    return Math.min(queue, capBefore(trade.atMs - LATE_MS));
  }

  /** The shares of a trade that this account's orders before this one took. */
  #filledAhead(order: Order, trade: Trade): Micros {
    const isAhead = (other: Order) =>
      (advantage(other, order) || this.rested.indexOf(order) - this.rested.indexOf(other)) > 0 &&
      upSide(other) === upSide(order);
    const fills = this.rested.filter(isAhead).flatMap(({ events }) => events.filter((event) => event.kind === 'fill'));
    return sum(
      fills
        .filter(({ fill: { evidence } }) => evidence.kind === 'trade' && evidence.id === trade.id)
        .map(({ fill }) => fill.shares),
    );
  }

  cross(nowMs: InstantMs): void {
    if (this.recording.instants[this.recording.at(nowMs)] !== nowMs) return;
    for (const side of ['bids', 'asks'] as const) {
      for (const order of this.#resting(side)) {
        for (const { book, price, size, taken } of this.#available(order, nowMs)) {
          const shares = Math.min(leftOf(order), size - taken);
          if (shares === 0) break;
          const cost = costOf(order.terms.side, shares, order.price);
          const evidence = evidenceOf(book, price, size, taken);
          this.#fill(order, { role: 'maker', price: order.terms.price, shares, cost, fee: 0, evidence }, nowMs);
        }
      }
    }
  }

  expire(nowMs: InstantMs): void {
    for (const order of this.orders) {
      if (isOpen(order) && order.terms.type === 'GTD' && order.terms.expirationMs! - MINUTE_MS <= nowMs)
        this.#close(order, 'expired', nowMs);
    }
  }

  endDelays(nowMs: InstantMs): void {
    for (const order of this.orders) {
      const isDelayed = order.events.at(-1)?.kind === 'delayed';
      if (isDelayed && order.arrivedMs + this.rules.takerDelayMs === nowMs) this.#match(order, nowMs);
    }
  }

  cancel(orderId: string, nowMs: InstantMs): void {
    const order = this.orders.findLast(({ terms }) => terms.id === orderId);
    if (order !== undefined && isOpen(order)) this.#close(order, 'cancelled', nowMs);
  }

  merge(shares: Micros, nowMs: InstantMs): void {
    const held = balancesOf(this.events);
    const isFree = (outcome: Outcome) => held[outcome] - this.reserved('sell', outcome) >= shares;
    if (!isFree('up') || !isFree('down')) return;
    const pair = { up: shares, down: shares };
    this.events.push({ kind: 'merged', atMs: nowMs, marketKey: this.marketKey, shares: pair, dollars: shares });
  }

  end(nowMs: InstantMs): void {
    for (const order of this.orders) if (isOpen(order)) this.#close(order, 'ended', nowMs);
  }

  settle(nowMs: InstantMs, winner: Outcome): void {
    const { up, down } = balancesOf(this.events);
    if (up === 0 && down === 0) return;
    const dollars = winner === 'up' ? up : down;
    this.events.push({ kind: 'settled', atMs: nowMs, marketKey: this.marketKey, shares: { up, down }, dollars });
  }
}

const isInDollars = ({ side, type }: OrderTerms) => side === 'buy' && (type === 'FOK' || type === 'FAK');
const isOpen = ({ events }: Order) => {
  const kind = events.at(-1)?.kind;
  return kind !== undefined && kind !== 'closed' && kind !== 'refused';
};
const liveOf = ({ events }: Order) => events.find((event): event is EventOf<'live'> => event.kind === 'live');
const upPrice = ({ terms, price }: Order) => (terms.outcome === 'up' ? price : complementOf(price));
/** The side of Up's book on which it rests: an ask of Down is a bid of Up. */
const upSide = ({ terms: { outcome, side } }: Order): Side =>
  (outcome === 'up') === (side === 'buy') ? 'bids' : 'asks';

/** By how much the price of an order is better than that of another one on its side. */
const advantage = (a: Order, b: Order) => (upSide(a) === 'bids' ? upPrice(a) - upPrice(b) : upPrice(b) - upPrice(a));

function leftOf({ terms, events }: Order): Micros {
  const last = events.findLast((event) => 'left' in event);
  return last === undefined ? terms.amount : (last as EventOf<'live'>).left;
}

/** The side and the price of Up's book that the taker of a trade hit. */
function hitBy({ outcome, side, price }: Trade): { readonly side: Side; readonly price: number } {
  const units = priceUnits(price);
  if (outcome === 'up') return { side: side === 'sell' ? 'bids' : 'asks', price: units };
  return { side: side === 'buy' ? 'bids' : 'asks', price: complementOf(units) };
}

/** Returns true if a resting order was there early enough for a trade, on the side that it hit, at its price or better. */
function isConcerned(order: Order, trade: Trade): boolean {
  const { side, price } = hitBy(trade);
  if (upSide(order) !== side || !(liveOf(order)!.atMs < trade.atMs - LATE_MS)) return false;
  return side === 'bids' ? upPrice(order) >= price : upPrice(order) <= price;
}

function evidenceOf({ id, atMs, recordedFor }: Book, price: number, shares: Micros, taken: Micros): Evidence {
  return { kind: 'book', id, atMs, outcome: recordedFor, price: price / 1e12, shares, taken };
}

/**
 * The events of each account, by its address, if these accounts do these actions on a recording. Naive: it visits every instant at which
 * anything may happen, and computes queues, takings, reservations and balances anew from all rows and all events before. Actions
 * are in the order in which they are sent.
 */
export function historiesOf(
  recording: RecordedMarket,
  rules: Rules,
  marketKey: number,
  deposits: Readonly<Record<string, EventOf<'deposit'>>>,
  actions: readonly Action[],
): Record<string, readonly AccountEvent[]> {
  const accounts = new Map(
    Object.entries(deposits).map(([address, deposit]) => [
      address,
      new OracleAccount(recording, rules, marketKey, deposit),
    ]),
  );
  const { latencyMs, takerDelayMs } = rules;
  const { endMs, settledMs, winner } = recording;
  const orders = actions.filter((action) => action.kind === 'order');
  const instants = new Set([
    ...recording.instants,
    ...recording.trades.map(({ atMs }) => atMs),
    ...actions.flatMap(({ atMs }) => [atMs, atMs + latencyMs]),
    ...orders.map(({ atMs }) => atMs + latencyMs + takerDelayMs),
    ...orders.flatMap(({ terms: { expirationMs } }) => (expirationMs === undefined ? [] : [expirationMs - MINUTE_MS])),
    endMs,
    settledMs,
  ]);
  for (const nowMs of [...instants].sort((a, b) => a - b)) {
    for (const trade of recording.trades)
      if (trade.atMs === nowMs) for (const account of accounts.values()) account.trade(trade);
    for (const account of accounts.values()) {
      account.cross(nowMs);
      account.expire(nowMs);
      account.endDelays(nowMs);
    }
    const act = (isNow: (action: Action) => boolean) => {
      for (const action of actions.filter(isNow)) {
        const account = accounts.get(action.account)!;
        if (action.kind === 'cancel') account.cancel(action.orderId, nowMs);
        else if (action.kind === 'merge') account.merge(action.shares, nowMs);
        else account.arrive(action.terms, nowMs);
        // What would rest from its last instant on does not rest.
        account.expire(nowMs);
      }
    };
    if (latencyMs > 0) act(({ kind, atMs }) => kind !== 'merge' && atMs + latencyMs === nowMs);
    for (const account of accounts.values()) {
      if (nowMs === endMs) account.end(nowMs);
      if (nowMs === settledMs && winner !== undefined) account.settle(nowMs, winner);
    }
    // Without latency an account acts when it has seen all of the millisecond, its market's end too.
    act(({ kind, atMs }) => (kind === 'merge' || latencyMs === 0) && atMs === nowMs);
  }
  return Object.fromEntries([...accounts].map(([address, { events }]) => [address, events]));
}
