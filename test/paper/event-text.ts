import type { AccountEvent } from '../../src/paper/account-event.ts';
import { microsText } from '../../src/paper/micros.ts';
import { START_MS, sampleGap, samplePrice, sampleSnapshot } from '../support/sample-records.ts';
import type { Action } from './oracle.ts';

const iso = (ms: string) => new Date(START_MS + Number(ms)).toISOString();
const levels = (text: string) =>
  text
    .split(' ')
    .filter((level) => level !== '')
    .map((level) => level.split('x').map(Number))
    .map(([price, size]) => ({ price, size }));

/** `0 up 0.5x10 0.49x20 | 0.52x5`, `25 down buy 0.5 6` (a trade) or `100 gap 200`; times from the start of the market. */
export function recordOf(text: string): object {
  const [ms = '', what = '', ...rest] = text.split(' ');
  if (what === 'gap') return sampleGap({ from: iso(ms), to: iso(rest[0]!) });
  const timestamp = iso(ms);
  if (rest[0] === 'buy' || rest[0] === 'sell') {
    return samplePrice({ timestamp, outcome: what, side: rest[0], price: Number(rest[1]), size: Number(rest[2]) });
  }
  const [bids = '', asks = ''] = rest.join(' ').split('|');
  return sampleSnapshot({ timestamp, outcome: what, bids: levels(bids), asks: levels(asks) });
}

/** `10 1 buy up GTC 0.5 5` with the order's id, `postonly` or the instant of a GTD's expiration after it; `20 cancel 1`, or `30 merge 5`. */
export function actionOf(text: string): Action {
  const [ms = '', id = '', side, outcome, type, price, amount, more] = text.split(' ');
  const at = { account: 'a', atMs: START_MS + Number(ms) };
  if (id === 'merge') return { ...at, kind: 'merge', shares: Number(side) * 1e6 };
  if (id === 'cancel') return { ...at, kind: 'cancel', orderId: side! };
  const isPostOnly = more === 'postonly';
  const expirationMs = more === undefined || isPostOnly ? undefined : START_MS + Number(more);
  const terms = {
    id,
    side,
    outcome,
    type,
    price: Number(price),
    amount: Math.round(Number(amount) * 1e6),
    isPostOnly,
    expirationMs,
  };
  return { ...at, kind: 'order', terms: terms as Extract<Action, { kind: 'order' }>['terms'] };
}

/** An event in the words of these tests. */
export function textOf(event: AccountEvent): string {
  const ms = event.atMs - START_MS;
  if (event.kind === 'deposit') return `deposit ${microsText(event.dollars)}`;
  if (!('order' in event)) {
    const { kind, shares, dollars } = event;
    return `${ms} ${kind} ${microsText(shares.up)} up ${microsText(shares.down)} down for ${microsText(dollars)}`;
  }
  const start = `${ms} ${event.order.id}`;
  switch (event.kind) {
    case 'delayed':
      return `${start} delayed`;
    case 'closed':
      return `${start} ${event.state} ${microsText(event.left)}`;
    case 'live':
      return `${start} live ${microsText(event.left)} behind ${microsText(event.queue)}${event.hasFailed ? ' failed' : ''}`;
    case 'refused': {
      const { refusal } = event;
      if (refusal.reason !== 'funds') return `${start} refused: ${refusal.reason}`;
      return `${start} refused: ${[refusal.needed, refusal.balance, refusal.reserved].map(microsText).join(' of ')}`;
    }
    case 'fill': {
      const { role, price, shares, cost, fee, evidence } = event.fill;
      const proof =
        evidence.kind === 'trade'
          ? `trade ${microsText(evidence.shares)} behind ${microsText(evidence.queue)}`
          : `${evidence.price}x${microsText(evidence.shares)} less ${microsText(evidence.taken)}`;
      return `${start} ${role} ${microsText(shares)} at ${price} for ${microsText(cost)} fee ${microsText(fee)}: ${proof}`;
    }
  }
}
