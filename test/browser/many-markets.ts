import { randomsOf } from '../support/random-books.ts';

const MINUTE_MS = 60_000;
/** Of a window. */
const LENGTH_MS = 5 * MINUTE_MS;
const BOOKS = 4;
/** One of so many markets has no books. */
const UNRECORDED = 29;

/** NDJSON of `count` consecutive markets of BTC and 5m with a few books each, the first one beginning at `firstMs`. */
export function* manyMarkets(count: number, firstMs: number): Generator<string> {
  const random = randomsOf(1);
  for (let i = 0; i < count; i += 1) {
    const startMs = firstMs + i * LENGTH_MS;
    const conditionId = `0x${i.toString(16).padStart(64, '0')}`;
    const winner = random() < 0.5 ? 'up' : 'down';
    yield line({
      ...{ type: 'market', conditionId, slug: `btc-updown-5m-${startMs / 1000}`, symbol: 'btc', timeframe: '5m' },
      ...{
        outcomes: ['up', 'down'],
        clobTokenIds: [String(2 * i + 1), String(2 * i + 2)],
        active: false,
        closed: true,
      },
      ...{ startTime: timeText(startMs), endTime: timeText(startMs + LENGTH_MS), winner },
      volume: Math.round(random() * 200_000),
    });
    if (i % UNRECORDED === 0) continue;
    for (let book = 0; book < BOOKS; book += 1) {
      const price = Math.round((winner === 'up' ? 0.5 + book / 10 : 0.5 - book / 10) * 100) / 100;
      yield line({
        ...{ type: 'snapshot', conditionId, outcome: 'up', timestamp: startMs + book * MINUTE_MS },
        bids: [{ price: String(price), size: '10' }],
        asks: [{ price: (price + 0.02).toFixed(2), size: '12.5' }],
      });
    }
  }
}

function line(record: object): string {
  return `${JSON.stringify(record)}\n`;
}

function timeText(instantMs: number): string {
  return new Date(instantMs).toISOString();
}
