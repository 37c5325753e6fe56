import type { EventResource } from '../trading/event-resource.ts';
import { printable } from './terminal.ts';

type OrderResource = NonNullable<EventResource['order']>;
type FillResource = NonNullable<EventResource['fill']>;

/** The history of the orders of some events of an account, in plain words: an order, then its events, each fill with its evidence. */
export function explained({
  address,
  events,
}: {
  readonly address: string;
  readonly events: readonly EventResource[];
}) {
  const lines: string[] = [];
  let shown: string | undefined;
  for (const event of events) {
    if (event.order !== null && event.order.id !== shown) {
      shown = event.order.id;
      lines.push(`order ${shown} of ${address}`, `  ${orderText(event.order)}, ${event.slug}`);
    }
    lines.push(`  ${event.timestamp}  ${eventText(event)}`);
    if (event.fill !== null) lines.push(...evidenceLines(event.fill).map((line) => `    ${line}`));
  }
  return `${lines.map(printable).join('\n')}\n`;
}

function orderText({ side, outcome, type, price, amount, postOnly, expiration }: OrderResource): string {
  const isInDollars = side === 'buy' && (type === 'FOK' || type === 'FAK');
  const what = `${isInDollars ? 'shares for ' : ''}${amount} ${isInDollars ? 'dollars' : 'shares'} of ${outcome}`;
  const until = expiration === null ? '' : `, until 60 s before ${expiration}`;
  return `${side}s ${what} at ${price} or better, ${type}${postOnly ? ', post-only' : ''}${until}`;
}

function eventText({ kind, reason, funds, fill, queue, left }: EventResource): string {
  switch (kind) {
    case 'refused':
      return funds === null
        ? `refused: ${reason}`
        : `refused: it needs ${funds.needed}, the account has ${funds.balance}, of which open orders hold ${funds.reserved}`;
    case 'delayed':
      return 'arrives, would match, and is held by the taker delay';
    case 'live':
      return `${reason === 'unmatched' ? 'no longer matches, and rests' : 'rests'} with ${left} open, behind ${queue} recorded shares`;
    case 'fill': {
      const { number, role, shares, price, cost, fee } = fill!;
      return `fill ${number} as ${role}: ${shares} shares at ${price}, ${cost} dollars, fee ${fee}; ${left} left`;
    }
    case 'closed':
      return `${reason}, ${left} unfilled`;
    default:
      return kind;
  }
}

/** The record that caused a fill, and the rule by which it did. */
function evidenceLines({ role, evidence }: FillResource): string[] {
  const { kind, id, timestamp, outcome, side, price, shares, queue, taken } = evidence;
  if (kind === 'trade') {
    return [
      `trade ${id} of ${timestamp}: a taker ${side}s ${shares} shares of ${outcome} at ${price}`,
      `${queue} recorded shares were ahead of the order; it gets what the trade has beyond them`,
    ];
  }
  return [
    `snapshot ${id} of ${timestamp}, recorded for ${outcome}: ${shares} shares at ${price} in the book of the order's outcome`,
    `the account had taken ${taken} of them; ${role === 'taker' ? 'the order takes from the rest' : 'the level reaches the limit of the order, which gets from the rest'}`,
  ];
}
