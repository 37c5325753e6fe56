// Runs the venue's own clients in Node with their own addresses, and prints as JSON what they got. Nothing of them is replaced.
import { createRequire } from 'node:module';
import { Wallet } from '@ethersproject/wallet';
import * as venue from '@polymarket/client';
import * as actions from '@polymarket/client/actions';
import { ClobClient, OrderType, Side } from '@polymarket/clob-client';
import * as v2 from '@polymarket/clob-client-v2';

const CLOB = 'https://clob.polymarket.com';
const POLYGON = 137;
const [slug] = process.argv.slice(2);
const { RealTimeDataClient } = createRequire(import.meta.url)('@polymarket/real-time-data-client');
// The account that every local chain has first: it signs, and nothing is sent.
const wallet = new Wallet('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80');
const credentials = { key: 'k', secret: Buffer.from('secret').toString('base64'), passphrase: 'p' };
const found = {};

const market = await (await fetch(`https://gamma-api.polymarket.com/markets/slug/${slug}`)).json();
const [tokenID] = JSON.parse(market.clobTokenIds);
const clob = new ClobClient(CLOB, POLYGON, wallet, credentials);
found.book = (await clob.getOrderBook(tokenID)).asset_id === tokenID;
found.market = (await clob.getMarket(market.conditionId)).condition_id === market.conditionId;
found.fee = await clob.getFeeRateBps(tokenID);
const order = await clob.createOrder({ tokenID, price: 0.5, side: Side.BUY, size: 5 });
found.signed = order.signature.length;
found.orderType = OrderType.GTC;

const second = new v2.ClobClient({ host: CLOB, chain: POLYGON });
found.second = (await second.getOrderBook(tokenID)).asset_id === tokenID;

const client = venue.createPublicClient();
found.third = (await actions.fetchMarket(client, { slug })).conditionId === market.conditionId;

found.price = await new Promise((resolve) => {
  const stream = new RealTimeDataClient({
    onConnect: (own) =>
      own.subscribe({
        subscriptions: [{ topic: 'crypto_prices_chainlink', type: '*', filters: '{"symbol":"btc/usd"}' }],
      }),
    onMessage: (_, { payload }) => {
      const [first] = payload.data ?? [payload];
      resolve(first.value);
    },
  });
  stream.connect();
});
process.stdout.write(JSON.stringify(found));
process.exit(0);
