// Trades with the venue's own clients in Node, at their own addresses, and prints as JSON what they got. Nothing of them is replaced.
import { Wallet } from '@ethersproject/wallet';
import * as clob from '@polymarket/bindings/clob';
import * as data from '@polymarket/bindings/data';
import { UserOrderEventSchema, UserTradeEventSchema } from '@polymarket/bindings/subscriptions';
import * as v1 from '@polymarket/clob-client';
import * as v2 from '@polymarket/clob-client-v2';
import { ClobUserClient } from 'polymarket-websocket-client';
import WebSocket from 'ws';

// Node 20 has none.
globalThis.WebSocket ??= WebSocket;

const CLOB = 'https://clob.polymarket.com';
const DATA = 'https://data-api.polymarket.com';
const POLYGON = 137;
const [slug, endIso] = process.argv.slice(2);

const json = async (url, init) => await (await fetch(url, init)).json();
const market = await json(`https://gamma-api.polymarket.com/markets/slug/${slug}`);
const [tokenID] = JSON.parse(market.clobTokenIds);
const { conditionId } = market;

async function until(isDone) {
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The calls of a bot with one of the clients, and what came of them. */
async function trade(wallet, clientOf, hashOf) {
  const found = {};
  const creds = await clientOf(undefined).createOrDeriveApiKey();
  const client = clientOf(creds);
  found.sameKey =
    (await client.deriveApiKey()).key === creds.key && (await client.getApiKeys()).apiKeys[0] === creds.key;
  const user = new ClobUserClient({ apiKey: creds.key, secret: creds.secret, passphrase: creds.passphrase });
  const events = [];
  user.onUserMessage((event) => events.push(event));
  user.subscribe([conditionId]);
  await user.connect();

  const resting = await client.createOrder({ tokenID, price: 0.4, side: 'BUY', size: 10 });
  const placed = clob.OrderResponseSchema.parse(await client.postOrder(resting, 'GTC'));
  found.sameId = placed.orderId === hashOf(resting);
  found.placed = placed.status;
  const open = await client.getOpenOrders({ market: conditionId });
  found.open = open.map((order) => clob.OpenOrderSchema.parse(order).sizeMatched);
  found.order = (await client.getOrder(placed.orderId)).status;
  found.scoring = await client.isOrderScoring({ order_id: placed.orderId });
  found.canceled = (await client.cancelOrder({ orderID: placed.orderId })).canceled.length;

  const bought = await client.createAndPostMarketOrder(
    { tokenID, side: 'BUY', amount: 5, orderType: 'FOK' },
    {},
    'FOK',
  );
  const answer = clob.OrderResponseSchema.parse(bought);
  Object.assign(found, { bought: answer.status, making: answer.makingAmount, taking: answer.takingAmount });
  found.killed = (
    await client.createAndPostMarketOrder({ tokenID, side: 'BUY', amount: 500, price: 0.53 }, {}, 'FOK')
  ).error;
  const poor = await client.createOrder({ tokenID, price: 0.4, side: 'SELL', size: 100 });
  found.poor = (await client.postOrder(poor, 'GTC')).error;
  const trades = await client.getTrades({ market: conditionId });
  found.trades = trades.map((each) => clob.ClobTradeSchema.parse(each).traderSide);
  const balances = await client.getBalanceAllowance({ asset_type: 'CONDITIONAL', token_id: tokenID });
  found.shares = clob.BalanceAllowanceResponseSchema.parse(balances).balance;
  found.closedOnly = (await client.getClosedOnlyMode()).closed_only;
  await client.updateBalanceAllowance({ asset_type: 'COLLATERAL' });

  const batch = [];
  for (const price of [0.3, 0.2]) {
    batch.push({ order: await client.createOrder({ tokenID, price, side: 'BUY', size: 5 }), orderType: 'GTC' });
  }
  found.batch = (await client.postOrders(batch)).map(({ status }) => status);
  found.cancelledOfMarket = (await client.cancelMarketOrders({ market: conditionId })).canceled.length;
  const left = await client.postOrder(await client.createOrder({ tokenID, price: 0.2, side: 'BUY', size: 5 }), 'GTC');
  found.all = (await client.cancelAll()).canceled.length;
  found.again = (await client.cancelOrders([left.orderID])).not_canceled[left.orderID];
  await client.postOrder(await client.createOrder({ tokenID, price: 0.2, side: 'BUY', size: 5 }), 'GTC');
  if (client.postHeartbeat !== undefined) found.heartbeat = (await client.postHeartbeat('')).heartbeat_id.length;
  const positions = await json(`${DATA}/positions?user=${wallet.address}`);
  found.positions = data.ListPositionsResponseSchema.parse(positions).length;
  return { found, events, client, wallet };
}

const accounts = [
  // Those that every local chain has first: they sign, and nothing is sent.
  new Wallet('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'),
  new Wallet('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'),
];
const ofFirst = (creds) => new v1.ClobClient(CLOB, POLYGON, accounts[0], creds);
const ofSecond = (creds) => new v2.ClobClient({ host: CLOB, chain: POLYGON, signer: accounts[1], creds });
const { contracts } = { contracts: v2.getContractConfig(POLYGON) };
const { ExchangeOrderBuilderV1 } = await import(
  new URL('./node_modules/@polymarket/clob-client-v2/dist/order-utils/exchangeOrderBuilderV1.js', import.meta.url)
);
const { ExchangeOrderBuilderV2 } = await import(
  new URL('./node_modules/@polymarket/clob-client-v2/dist/order-utils/exchangeOrderBuilderV2.js', import.meta.url)
);
const hashes = [
  new ExchangeOrderBuilderV1(contracts.exchange, POLYGON),
  new ExchangeOrderBuilderV2(contracts.exchangeV2, POLYGON),
].map((builder) => (order) => {
  // The first client numbers the sides.
  const side = order.side === 0 ? 'BUY' : order.side === 1 ? 'SELL' : order.side;
  return builder.buildOrderHash(builder.buildOrderTypedData({ ...order, side }));
});
const bots = [await trade(accounts[0], ofFirst, hashes[0]), await trade(accounts[1], ofSecond, hashes[1])];

// The end of the window, its resolution, and the payout.
const [{ id }] = (await json(`${CLOB}/v1/replays`)).data;
const steered = { method: 'PATCH', body: JSON.stringify({ now: endIso }) };
await json(`${CLOB}/v1/replays/${id}`, steered);
for (const { found, client, events, wallet } of bots) {
  const shares = async () =>
    (await client.getBalanceAllowance({ asset_type: 'CONDITIONAL', token_id: tokenID })).balance;
  await until(async () => (await shares()) === '0');
  found.cash = (await client.getBalanceAllowance({ asset_type: 'COLLATERAL' })).balance;
  const activity = await json(`${DATA}/activity?user=${wallet.address}`);
  found.activity = data.ListActivityResponseSchema.parse(activity).map(({ type }) => type);
  await until(
    () => events.some(({ status }) => status === 'INVALID') && events.some(({ status }) => status === 'CONFIRMED'),
  );
  const seen = events.map((event) => {
    // The statuses of captures of the venue (nautilus_trader) that this schema does not have.
    if (event.status === 'INVALID' || event.status.startsWith('CANCELED_')) return event.type;
    const { payload } = (event.event_type === 'order' ? UserOrderEventSchema : UserTradeEventSchema).parse(event);
    return payload.orderEventType ?? payload.status;
  });
  found.events = Object.fromEntries(
    [...new Set(seen)].sort().map((name) => [name, seen.filter((each) => each === name).length]),
  );
}
process.stdout.write(JSON.stringify(bots.map(({ found }) => found)));
process.exit(0);
