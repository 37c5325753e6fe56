import { OUTCOMES } from '../../src/domain/outcome.ts';
import { TRADE_SIDES } from '../../src/domain/trade.ts';
import type { OrderTerms, OrderType } from '../../src/paper/paper-order.ts';
import { randomsOf } from '../support/random-books.ts';
import type { Action, RecordedMarket } from './oracle.ts';

/** The cash of each account: one has little, and one has more than it can spend. */
export const CASH = { '0xrich': 1e12, '0xusual': 1e9, '0xpoor': 3e7, '0xother': 2e8 } as const;

const TYPES: readonly OrderType[] = ['GTC', 'GTC', 'GTC', 'GTC', 'GTD', 'GTD', 'FOK', 'FAK', 'FAK'];
const OFFSETS_MS = [-40, -31, -30, -1, 0, 0, 0, 1, 2, 21, 29, 30, 31, 40];
const WAITS_MS = [0, 0, 1, 20, 30, 31, 39, 40, 41, 249, 250, 251, 1000, 5000, 30_000];

/** Actions from a seed, in the order in which they are sent: `count` orders around the recorded prices, and cancels of some. */
export function randomActions(recording: RecordedMarket, seed: number, count: number): Action[] {
  const random = randomsOf(seed);
  const whole = (below: number) => Math.floor(random() * below);
  const oneOf = <T>(values: readonly T[]): T => values[whole(values.length)]!;
  const { instants, trades, gaps, endMs } = recording;
  const edges = [
    endMs,
    endMs - 40,
    endMs - 250,
    endMs - 290,
    ...gaps.flatMap(({ fromMs, toMs }) => [fromMs, toMs, (fromMs + toMs) / 2]),
  ];
  const traded = trades.length === 0 ? instants : trades.map(({ atMs }) => atMs);
  const centre = () => {
    const kind = random();
    if (kind < 0.1) return Math.floor(oneOf(edges));
    if (kind < 0.3) return oneOf(traded);
    if (kind < 0.4) return oneOf(instants);
    return Math.min(oneOf(instants), endMs);
  };
  const sentMs = Array.from({ length: count }, () => Math.max(instants[0]! - 100, centre() + oneOf(OFFSETS_MS)));
  // Some are sent together.
  for (let i = 1; i < count; i += 1) if (random() < 0.2) sentMs[i] = sentMs[i - 1]!;
  const actions: Action[] = [];
  const ids: string[] = [];
  for (const [nth, atMs] of sentMs.sort((a, b) => a - b).entries()) {
    const account = oneOf(Object.keys(CASH));
    const isRepeated = ids.length > 0 && random() < 0.02;
    const id = isRepeated ? oneOf(ids) : `${nth}`;
    ids.push(id);
    const terms = { ...randomTerms(atMs), id };
    actions.push({ account, atMs, kind: 'order', terms });
    if (random() < 0.02) actions.push({ account, atMs, kind: 'merge', shares: 1 + whole(1e6) });
    if (random() < 0.35) actions.push({ account, atMs: atMs + oneOf(WAITS_MS), kind: 'cancel', orderId: id });
    if (random() < 0.05) actions.push({ account, atMs: atMs + oneOf(WAITS_MS), kind: 'cancel', orderId: oneOf(ids) });
  }
  return actions.sort((a, b) => a.atMs - b.atMs);

  function randomTerms(atMs: number): Omit<OrderTerms, 'id'> {
    const outcome = oneOf(OUTCOMES);
    const side = random() < 0.6 ? 'buy' : oneOf(TRADE_SIDES);
    const type = oneOf(TYPES);
    const book = recording.bookAt(outcome, atMs);
    const own = book?.[side === 'buy' ? 'bids' : 'asks'] ?? [];
    const opposite = book?.[side === 'buy' ? 'asks' : 'bids'] ?? [];
    const base = oneOf([own[0], own[0], own[1], opposite[0], opposite[0], opposite[2], oneOf(own), oneOf(opposite)]);
    const ticks = random() < 0.5 ? 0 : whole(5) - 2;
    const isFine = random() < 0.03;
    const thousandths = Math.round((base?.price ?? 0.5e12) / 1e9) + 10 * ticks + (isFine ? 3 : 0);
    const price = Math.min(999, Math.max(1, thousandths)) / 1000;
    const size = oneOf([base?.size ?? 1e6, opposite[0]?.size ?? 1e6, own[0]?.size ?? 1e6]);
    const shares = oneOf([
      1 + whole(20),
      5e6,
      5e6,
      10e6,
      12_345_678,
      size,
      Math.ceil(size / 2),
      size + 1,
      size * 3,
      whole(5e7) + 1,
    ]);
    const isInDollars = side === 'buy' && (type === 'FOK' || type === 'FAK');
    return {
      outcome,
      side,
      type,
      price,
      amount: isInDollars ? Math.max(1, Math.round(shares * price)) : shares,
      isPostOnly: type.startsWith('GT') && random() < 0.2,
      expirationMs: type === 'GTD' ? atMs + 60_000 + (random() < 0.1 ? -1 : 1) * oneOf(WAITS_MS) : undefined,
    };
  }
}
