import type { OrderBook } from '../../src/domain/orderbook.ts';

/** The kind of books to make. */
export interface BookStyle {
  /** Decimals of a price. */
  readonly priceScale: number;
  readonly sizes: 'whole' | 'cents' | 'millionths' | 'mixed' | 'extremes';
  readonly levelsMax: number;
  /** Levels that change from one book to the next, per side. */
  readonly changesMax: number;
}

/** Seeded random numbers in [0, 1) (mulberry32). */
export function randomsOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` books, each with a few changes to the one before; sometimes a side is empty. */
export function randomBooks(seed: number, count: number, style: BookStyle): OrderBook[] {
  const random = randomsOf(seed);
  const bids = new Map<number, number>();
  const asks = new Map<number, number>();
  const books: OrderBook[] = [];
  for (let i = 0; i < count; i += 1) {
    for (const side of [bids, asks]) change(side, random, style, i === 0);
    const descending = [...bids].sort((a, b) => b[0] - a[0]);
    const ascending = [...asks].sort((a, b) => a[0] - b[0]);
    books.push({
      bidPrices: descending.map(([price]) => price),
      bidSizes: descending.map(([, size]) => size),
      askPrices: ascending.map(([price]) => price),
      askSizes: ascending.map(([, size]) => size),
    });
  }
  return books;
}

function change(side: Map<number, number>, random: () => number, style: BookStyle, first: boolean): void {
  if (random() < 0.05) side.clear();
  const changes = first ? random() * style.levelsMax : random() * (style.changesMax + 1);
  for (let i = 0; i < Math.floor(changes); i += 1) {
    const prices = [...side.keys()];
    const price = Math.floor(random() * (10 ** style.priceScale + 1)) / 10 ** style.priceScale;
    const action = random();
    if (prices.length > 0 && (action < 0.3 || side.size >= style.levelsMax)) {
      side.delete(prices[Math.floor(random() * prices.length)]!);
    } else if (prices.length > 0 && action < 0.6) {
      side.set(prices[Math.floor(random() * prices.length)]!, randomSize(random, style.sizes));
    } else {
      side.set(price, randomSize(random, style.sizes));
    }
  }
}

/** An exact decimal above 0: at most 15 significant digits and 12 decimals. */
export function randomSize(random: () => number, kind: BookStyle['sizes']): number {
  const whole = (max: number) => 1 + Math.floor(random() * max);
  switch (kind) {
    case 'whole':
      return whole(5000);
    case 'cents':
      return whole(500_000) / 100;
    case 'millionths':
      return whole(9e11) / 1e6;
    case 'extremes':
      return random() < 0.5 ? whole(999) * 1e11 : whole(999) / 1e12;
    case 'mixed': {
      const scale = Math.floor(random() * 13);
      const digits = 1 + Math.floor(random() * 15);
      return whole(10 ** digits - 1) / 10 ** scale;
    }
  }
}
