import { type Static, type TSchema, Type } from 'typebox';
import { ConditionId } from '../domain/condition-id.ts';
import { formatInstant, instantText } from '../domain/instant.ts';
import { OutcomeName } from '../domain/outcome.ts';
import type { AccountEvent, Evidence, Fill } from '../paper/account-event.ts';
import { type Micros, microsText } from '../paper/micros.ts';
import { ORDER_TYPES, type OrderTerms } from '../paper/paper-order.ts';

/** Names of a market. */
export interface MarketNames {
  readonly conditionId: string;
  readonly slug: string;
}

/** Dollars or shares, exact: up to 6 decimals. */
export const Amount = (description: string) =>
  Type.String({ pattern: '^-?\\d+(?:\\.\\d{1,6})?$', description: `${description} Up to 6 decimals.` });
const orNull = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description });
const words = <T extends string>(list: readonly T[], description: string) =>
  Type.Union(
    list.map((word) => Type.Literal(word)),
    { description },
  );
const Price = (description: string) => Type.Number({ minimum: 0, maximum: 1, description });
const Side = words(['buy', 'sell'], 'buy or sell.');

export const OrderResource = Type.Object(
  {
    id: Type.String({ description: 'Its id.' }),
    outcome: OutcomeName,
    side: Side,
    type: words(ORDER_TYPES, 'GTC, GTD, FOK or FAK.'),
    price: Price('Its limit.'),
    amount: Amount('Shares; the dollars to spend of an order that buys with FOK or FAK.'),
    postOnly: Type.Boolean({ description: 'Whether it is refused if it would match.' }),
    expiration: orNull(instantText('Of GTD: it acts until 60 seconds before.'), 'null for other types.'),
  },
  { $id: 'PaperOrder', description: 'An order as it was sent.' },
);

const EvidenceResource = Type.Object(
  {
    kind: words(
      ['trade', 'book'],
      'trade: a recorded trade reached the order; book: recorded levels of the other side did.',
    ),
    id: Type.Integer({ minimum: 0, description: 'The id of the trade, or of the snapshot.' }),
    timestamp: instantText('Its time.'),
    outcome: OutcomeName,
    side: orNull(Side, 'Of a trade: that of its taker.'),
    price: Price('The price of the trade, or of the level in the book of the order’s outcome.'),
    shares: Amount('The recorded shares of the trade, or of the level.'),
    queue: orNull(Amount('The recorded shares that were ahead of the order.'), 'null for a book.'),
    taken: orNull(Amount('The shares that the account had taken from the level before.'), 'null for a trade.'),
  },
  { description: 'The record that caused it.' },
);

const FillResource = Type.Object(
  {
    number: Type.Integer({ minimum: 1, description: 'Its number in the account.' }),
    role: words(['taker', 'maker'], 'taker: the order met the book when it arrived; maker: it rested.'),
    price: Price('Its price.'),
    shares: Amount('Its shares.'),
    cost: Amount('Dollars paid or received, without the fee.'),
    fee: Amount('The fee, in dollars.'),
    evidence: EvidenceResource,
  },
  { $id: 'PaperFill', description: 'A fill at one price.' },
);

const EVENT_KINDS = ['deposit', 'refused', 'delayed', 'live', 'fill', 'closed', 'settled', 'merged'] as const;

export const EventResource = Type.Object(
  {
    id: Type.Integer({ minimum: 1, description: 'Its place in the history of the account.' }),
    timestamp: instantText('Its time, as recorded times are.'),
    kind: words(
      EVENT_KINDS,
      'deposit: the first cash; refused: the venue refuses the order; delayed: the taker delay holds it; live: it rests; fill; closed: it is no longer open; settled: the market pays its winner; merged: pairs of up and down became dollars.',
    ),
    conditionId: orNull(ConditionId, 'The market; null for a deposit.'),
    slug: orNull(Type.String(), 'Its slug.'),
    order: orNull(OrderResource, 'The order; null if the event is about none.'),
    fill: orNull(FillResource, 'Of a fill.'),
    left: orNull(Amount('What is open, in the unit of the amount.'), 'Of live, fill and closed.'),
    queue: orNull(Amount('The recorded shares ahead of the order.'), 'Of live.'),
    reason: orNull(
      Type.String(),
      'Of refused: ended, not-ready, duplicate, expiration, post-only, none, short or funds; of closed: matched, killed, cancelled, expired or ended; of live: unmatched, if the taker delay passed without a match.',
    ),
    funds: orNull(
      Type.Object({
        balance: Amount('What the account has.'),
        reserved: Amount('What its open orders hold of it.'),
        needed: Amount('What the order needs, with the fee.'),
      }),
      'Of an order that is refused for funds: dollars if it buys, else shares.',
    ),
    shares: orNull(
      Type.Object({ up: Amount('Shares of up.'), down: Amount('Shares of down.') }),
      'Of settled and merged: the shares that are gone.',
    ),
    dollars: orNull(Amount('Dollars received.'), 'Of deposit, settled and merged.'),
  },
  { $id: 'AccountEvent', description: 'Something that happened to an account.' },
);
export type EventResource = Static<typeof EventResource>;

export function orderResource(terms: OrderTerms): Static<typeof OrderResource> {
  const { id, outcome, side, type, price, amount, isPostOnly, expirationMs } = terms;
  const expiration = expirationMs === undefined ? null : formatInstant(expirationMs);
  return { id, outcome, side, type, price, amount: microsText(amount), postOnly: isPostOnly, expiration };
}

/** An event with its place in the history, from 1. `namesOf` gets the key of its market. */
export function eventResource(
  event: AccountEvent,
  id: number,
  namesOf: (marketKey: number) => MarketNames,
): EventResource {
  const names = 'marketKey' in event ? namesOf(event.marketKey) : undefined;
  const refusal = event.kind === 'refused' ? event.refusal : undefined;
  const hasFailed = event.kind === 'live' && event.hasFailed;
  return {
    id,
    timestamp: formatInstant(event.atMs),
    kind: event.kind,
    conditionId: names?.conditionId ?? null,
    slug: names?.slug ?? null,
    order: 'order' in event ? orderResource(event.order) : null,
    fill: event.kind === 'fill' ? fillResource(event.fill) : null,
    left: 'left' in event ? microsText(event.left) : null,
    queue: event.kind === 'live' ? microsText(event.queue) : null,
    reason: refusal?.reason ?? (event.kind === 'closed' ? event.state : hasFailed ? 'unmatched' : null),
    funds: refusal?.reason === 'funds' ? textsOf(refusal, ['balance', 'reserved', 'needed']) : null,
    shares: 'shares' in event ? textsOf(event.shares, ['up', 'down']) : null,
    dollars: 'dollars' in event ? microsText(event.dollars) : null,
  };
}

function textsOf<K extends string>(amounts: Readonly<Record<K, Micros>>, names: readonly K[]): Record<K, string> {
  return Object.fromEntries(names.map((name) => [name, microsText(amounts[name])])) as Record<K, string>;
}

function fillResource({ number, role, price, shares, cost, fee, evidence }: Fill): Static<typeof FillResource> {
  const amounts = textsOf({ shares, cost, fee }, ['shares', 'cost', 'fee']);
  return { number, role, price, ...amounts, evidence: evidenceResource(evidence) };
}

function evidenceResource(evidence: Evidence): Static<typeof EvidenceResource> {
  const { kind, id, atMs, outcome, price, shares } = evidence;
  return {
    ...{ kind, id, timestamp: formatInstant(atMs), outcome, side: kind === 'trade' ? evidence.side : null },
    ...{ price, shares: microsText(shares) },
    queue: kind === 'trade' ? microsText(evidence.queue) : null,
    taken: kind === 'book' ? microsText(evidence.taken) : null,
  };
}

/** An account with the events of its orders that were filled, as a report of a backtest has them. */
export interface FilledHistory {
  readonly address: string;
  readonly events: readonly EventResource[];
}

export function filledHistory(
  { address, events }: { readonly address: string; readonly events: readonly AccountEvent[] },
  namesOf: (marketKey: number) => MarketNames,
): FilledHistory {
  const filled = new Set(events.flatMap((event) => (event.kind === 'fill' ? event.order.id : [])));
  const shown = events.flatMap((event, index) =>
    'order' in event && filled.has(event.order.id) ? eventResource(event, index + 1, namesOf) : [],
  );
  return { address, events: shown };
}
