import { type Static, Type } from 'typebox';
import { formatInstant, instantText } from '../../domain/instant.ts';
import { microsText } from '../../paper/micros.ts';
import type { Holding, PaperAccount } from '../../paper/paper-account.ts';
import type { PaperOrder } from '../../paper/paper-order.ts';
import { Amount, OrderResource, orderResource } from '../../trading/event-resource.ts';
import type { PaperDesk } from '../../trading/paper-desk.ts';
import { orNull } from '../openapi/described.ts';

const OPEN_MAX = 100_000;

const SUMMARY = {
  address: Type.String({ pattern: '^0x[0-9a-f]{40}$', description: 'Its address, lower case.' }),
  cash: Amount('All its dollars, with those that are reserved.'),
  reserved: Amount('The dollars that its open orders hold.'),
  realised: Amount('Profit or loss so far, of what was sold, merged and paid, less all fees.'),
  orders: Type.Integer({ minimum: 0, description: 'The number of its orders, with those that have ended.' }),
  openOrders: Type.Integer({ minimum: 0, description: 'The number of its open orders.' }),
  events: Type.Integer({ minimum: 1, description: 'The number of events in its history.' }),
};
export const AccountSummary = Type.Object(SUMMARY, {
  $id: 'PaperAccountSummary',
  description: 'An account of a replay.',
});

const HoldingResource = (description: string) =>
  Type.Object(
    {
      shares: Amount('Shares.'),
      reserved: Amount('Those of them that open orders sell.'),
      cost: Amount('What they cost, without fees, in dollars.'),
    },
    { description },
  );
const NAMES = {
  conditionId: Type.String({ description: 'The market.' }),
  slug: Type.String({ description: 'Its slug.' }),
};
const AccountMarket = Type.Object(
  {
    ...NAMES,
    up: HoldingResource('Shares of up.'),
    down: HoldingResource('Shares of down.'),
    feeRate: Type.Number({ description: 'A taker’s fee is shares × feeRate × (price × (1 − price))^feeExponent.' }),
    feeExponent: Type.Integer({ description: 'The exponent of the fee.' }),
    feeSource: Type.String({ description: 'The source of the fee.' }),
    takerDelay: Type.Integer({ description: 'The milliseconds for which orders that would match are held.' }),
    takerDelaySource: Type.String({ description: 'The source of the delay.' }),
  },
  { description: 'A market in which the account had orders, with its shares.' },
);
const OpenOrder = Type.Object(
  {
    ...OrderResource.properties,
    ...NAMES,
    state: Type.String({ description: 'sent: on its way; delayed: held by the taker delay; live: it rests.' }),
    left: Amount('What is open, in the unit of the amount.'),
    filled: Amount('The shares of its fills.'),
    cost: Amount('What they cost or gave, in dollars.'),
    fee: Amount('Their fees, in dollars.'),
    sentAt: instantText('When it was sent.'),
    arrivedAt: orNull(instantText('When it arrived.'), 'null while it is on its way.'),
  },
  { description: 'An order that is open or on its way.' },
);
export const AccountResource = Type.Object(
  {
    ...SUMMARY,
    markets: Type.Array(AccountMarket, { description: 'In the order of its first orders.' }),
    open: Type.Array(OpenOrder, { maxItems: OPEN_MAX, description: 'In the order in which they were sent.' }),
  },
  { $id: 'PaperAccount', description: 'An account of a replay at the instant of its clock.' },
);
export type AccountSummary = Static<typeof AccountSummary>;
export type AccountResource = Static<typeof AccountResource>;

export function accountSummary(account: PaperAccount): AccountSummary {
  const { address, cash, reserved, realised, orders, events } = account;
  const dollars = { cash: microsText(cash), reserved: microsText(reserved), realised: microsText(realised) };
  return { address, ...dollars, orders: orders.size, openOrders: openOrders(account).length, events: events.length };
}

export function accountResource(desk: PaperDesk, account: PaperAccount): AccountResource {
  const namesOf = (key: number) => {
    const { conditionId, slug } = desk.traded(key)!.market;
    return { conditionId, slug };
  };
  const keys = new Set([...account.orders.values()].map(({ marketKey }) => marketKey));
  const markets = [...keys].map((key) => {
    const { fees, feesSource, takerDelayMs, takerDelaySource } = desk.traded(key)!.rules;
    const [up, down] = [holdingResource(account.holding(key, 'up')), holdingResource(account.holding(key, 'down'))];
    const fee = { feeRate: fees.rate, feeExponent: fees.exponent, feeSource: feesSource };
    return { ...namesOf(key), up, down, ...fee, takerDelay: takerDelayMs, takerDelaySource };
  });
  const open = openOrders(account).map(({ terms, marketKey, state, left, filled, cost, fee, sentMs, arrivedMs }) => ({
    ...{ ...orderResource(terms), ...namesOf(marketKey), state },
    ...{ left: microsText(left), filled: microsText(filled), cost: microsText(cost), fee: microsText(fee) },
    ...{ sentAt: formatInstant(sentMs), arrivedAt: arrivedMs === undefined ? null : formatInstant(arrivedMs) },
  }));
  return { ...accountSummary(account), markets, open };
}

function openOrders({ orders }: PaperAccount): PaperOrder[] {
  return [...orders.values()].filter(({ endedMs }) => endedMs === undefined);
}

function holdingResource({ shares, reserved, cost }: Holding): Static<ReturnType<typeof HoldingResource>> {
  return { shares: microsText(shares), reserved: microsText(reserved), cost: microsText(cost) };
}
