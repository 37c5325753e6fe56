import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { Connection } from '../../src/replay/connection.ts';
import { ReplayClock } from '../../src/replay/replay-clock.ts';
import { ApiKeys } from '../../src/trading/api-keys.ts';
import { Heartbeats } from '../../src/trading/heartbeats.ts';
import { ACCOUNTS_MAX } from '../../src/trading/paper-desk.ts';
import { UserSession } from '../../src/trading/user-session.ts';
import { VenueAccount } from '../../src/trading/venue-account.ts';
import { VenueDesk } from '../../src/trading/venue-desk.ts';
import { orderBody, orderJson } from '../../src/venue/order-body-parser.ts';
import { CONDITION_ID, DOWN_ASSET, START_MS, UP_ASSET } from '../support/sample-records.ts';
import { micros, UserChannel, VenueBot } from './venue-bot.ts';
import { END_MS, LATER, RESOLVED_MS, startVenue } from './venue-replaying.ts';

type Venue = Awaited<ReturnType<typeof startVenue>>;

const NO_ID = `0x${'e'.repeat(64)}`;

describe('refusals', () => {
  let venue: Venue;
  let bot: VenueBot;
  beforeAll(async () => {
    venue = await startVenue();
    bot = await VenueBot.signedIn(venue.origin);
  });
  afterAll(() => venue[Symbol.asyncDispose]());

  const buy = (price: number, size: number, type?: string, more?: object) =>
    bot.limit(UP_ASSET, 'BUY', price, size, type, more);
  const market = (dollars: number, shares: number, type = 'FOK') =>
    bot.body({ tokenId: UP_ASSET, side: 'BUY', makerAmount: micros(dollars), takerAmount: micros(shares) }, type);

  test.each<[string, () => unknown, string]>([
    ['no JSON', () => '{"order"', 'Invalid order payload'],
    ['a list', () => [buy(0.5, 5)], 'Invalid order payload'],
    ['an unknown type', () => buy(0.5, 5, 'GTX'), 'Invalid order payload'],
    [
      'an amount of 0',
      () => bot.body({ tokenId: UP_ASSET, side: 'BUY', makerAmount: '0', takerAmount: '1' }),
      'Invalid order payload',
    ],
    [
      'a signature of contracts in version 1',
      () => bot.body({ ...buy(0.5, 5).order, feeRateBps: '1000', signatureType: 3, timestamp: undefined }),
      'Invalid order payload',
    ],
    [
      'a number of more than 256 bits',
      () => bot.body({ ...buy(0.5, 5).order, salt: '9'.repeat(78) }),
      'Invalid order payload',
    ],
    ['another owner', () => ({ ...buy(0.5, 5), owner: 'k' }), 'the order owner has to be the owner of the API KEY'],
    [
      'another signer',
      () => bot.body({ ...buy(0.5, 5).order, signer: `0x${'1'.repeat(40)}` }),
      'the order signer address has to be the address of the API KEY',
    ],
    ['an unknown token', () => bot.limit('5', 'BUY', 0.5, 5), 'No orderbook exists for the requested token id'],
    [
      'a market without a book yet',
      () => bot.limit(LATER.up, 'BUY', 0.5, 5),
      'the market is not yet ready to process new orders',
    ],
    [
      'a fee of version 1',
      () => bot.body({ ...buy(0.5, 5).order, timestamp: undefined, feeRateBps: '0' }),
      "invalid fee rate (0), current market's taker fee: 1000",
    ],
    [
      'a price off the tick',
      () => buy(0.505, 5),
      'order ID is invalid. Price (0.505) breaks minimum tick size rule: 0.01',
    ],
    [
      'a price off the tick of one that is filled at once',
      () => bot.limit(UP_ASSET, 'SELL', 0.505, 5, 'FAK'),
      'order ID is invalid. Price (0.505) breaks minimum tick size rule: 0.01',
    ],
    ['a price of 1', () => buy(1, 5), 'invalid price (1), min: 0.01 - max: 0.99'],
    ['a small size', () => buy(0.5, 4.99), 'order ID is invalid. Size (4.99) lower than the minimum: 5'],
    ['half a dollar', () => market(0.5, 1), 'invalid amount for a marketable BUY order ($0.5), min size: $1'],
    [
      'three decimals of dollars',
      () => market(1.005, 2.01),
      'invalid amounts, the market buy orders maker amount supports a max accuracy of 2 decimals, taker amount a max of 4 decimals',
    ],
    [
      'five decimals of shares',
      () => market(1, 1.92307),
      'invalid amounts, the market buy orders maker amount supports a max accuracy of 2 decimals, taker amount a max of 4 decimals',
    ],
    [
      'three decimals of a sale',
      () => bot.limit(UP_ASSET, 'SELL', 0.5, 5.125, 'FAK'),
      'invalid amounts, the sell orders maker amount supports a max accuracy of 2 decimals, taker amount a max of 4 decimals',
    ],
    [
      'a GTC that expires',
      () => bot.body({ ...buy(0.5, 5).order, expiration: String(START_MS / 1000 + 600) }),
      'invalid expiration',
    ],
    ['a GTD that does not', () => buy(0.5, 5, 'GTD'), 'invalid expiration'],
    [
      'a GTD of 59 s',
      () => bot.body({ ...buy(0.5, 5).order, expiration: String(START_MS / 1000 + 59) }, 'GTD'),
      'invalid expiration',
    ],
    [
      'a GTD after the year 9999',
      () => bot.body({ ...buy(0.5, 5).order, expiration: '253402300800' }, 'GTD'),
      'invalid expiration',
    ],
    [
      'too few dollars',
      () => buy(0.5, 3000),
      'not enough balance / allowance: the balance is not enough -> balance: 1000000000, order amount: 1552500000',
    ],
    [
      'no shares',
      () => bot.limit(UP_ASSET, 'SELL', 0.5, 5),
      'not enough balance / allowance: the balance is not enough -> balance: 0, order amount: 5000000',
    ],
    [
      'post-only that would match',
      () => buy(0.52, 5, 'GTC', { postOnly: true }),
      'invalid post-only order: order crosses book',
    ],
    [
      'post-only FAK',
      () => market(5, 9.6153, 'FAK') && { ...market(5, 9.6153, 'FAK'), postOnly: true },
      'invalid post-only order: only GTC and GTD order types are allowed',
    ],
    [
      'post-only FOK that does not match',
      () => ({ ...market(5, 10), postOnly: true }),
      'invalid post-only order: only GTC and GTD order types are allowed',
    ],
    ['FOK short', () => market(10, 19.2307), "order couldn't be fully filled. FOK orders are fully filled or killed."],
    [
      'FAK without a match',
      () => market(5, 10, 'FAK'),
      'no orders found to match with FAK order. FAK orders are partially filled or killed if no match is found.',
    ],
  ])('%s', async (_, body, text) => {
    const { status, body: answer } = await bot.order(body());
    const error = answer.error.replace(/0x[0-9a-f]{64}/, 'ID');
    expect({ status, error }).toEqual({ status: 400, error: text });
  });

  test('with reserved dollars the text has them, and a batch has the texts of its elements', async () => {
    const other = await VenueBot.signedIn(venue.origin);
    const large = () => other.limit(UP_ASSET, 'BUY', 0.5, 1000);
    const { status, body } = await other.key('POST', '/orders', [large(), large(), other.limit('5', 'BUY', 0.5, 5)]);
    expect(status).toBe(200);
    const refused = { success: true, orderID: '', status: '', makingAmount: '', takingAmount: '' };
    expect(body).toEqual([
      {
        ...{ success: true, errorMsg: '', orderID: expect.stringMatching(/^0x[0-9a-f]{64}$/), status: 'live' },
        ...{ makingAmount: '', takingAmount: '', transactionsHashes: [], tradeIDs: [] },
      },
      {
        ...refused,
        errorMsg:
          'not enough balance / allowance: the balance is not enough -> balance: 1000000000, sum of active orders: 517500000, sum of matched orders: 0, order amount (inc. fees): 517500000',
      },
      { ...refused, errorMsg: 'No orderbook exists for the requested token id' },
    ]);
    const many = await other.key('POST', '/orders', Array.from({ length: 16 }, large));
    expect(many).toEqual({ status: 400, body: { error: 'Too many orders in payload: 16, max allowed: 15' } });
  });

  test('the same order again', async () => {
    const body = buy(0.4, 5);
    const { body: first } = await bot.order(body);
    const { body: second } = await bot.order(body);
    expect(second).toEqual({ error: `order ${first.orderID} is invalid. Duplicated.` });
  });

  test('after the end of the market', async () => {
    await using ended = await startVenue();
    const late = await VenueBot.signedIn(ended.origin);
    await ended.play(300_000);
    const { status, body } = await late.order(late.limit(UP_ASSET, 'BUY', 0.98, 5));
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: 'No orderbook exists for the requested token id' },
    });
  });

  test('credentials: a wallet’s signature, a key’s signature and passphrase, another’s address', async () => {
    const l1 = { status: 401, body: { error: 'Invalid L1 Request headers' } };
    const l2 = { status: 401, body: { error: 'Unauthorized/Invalid api key' } };
    const other = await VenueBot.signedIn(venue.origin);
    expect(await bot.wallet('POST', '/auth/api-key', { POLY_ADDRESS: other.address })).toEqual(l1);
    expect(await bot.wallet('POST', '/auth/api-key', { POLY_SIGNATURE: '0x12' })).toEqual(l1);
    expect(await bot.wallet('POST', '/auth/api-key', { POLY_NONCE: '1' })).toEqual(l1);
    expect(await bot.key('GET', '/data/orders', undefined, { POLY_SIGNATURE: 'AAAA' })).toEqual(l2);
    expect(await bot.key('GET', '/data/orders', undefined, { POLY_PASSPHRASE: 'p' })).toEqual(l2);
    expect(await bot.key('GET', '/data/orders', undefined, { POLY_ADDRESS: other.address })).toEqual(l2);
    expect(await bot.key('GET', '/data/orders', undefined, { POLY_ADDRESS: '' })).toEqual(l2);
    // A body that is not what was signed; the payload is checked before the key.
    const sent = await bot.key('POST', '/order', buy(0.5, 5), { POLY_TIMESTAMP: '5' });
    expect(sent).toEqual(l2);
    const broken = await bot.key('POST', '/order', '{', { POLY_TIMESTAMP: '5' });
    expect(broken).toEqual({ status: 400, body: { error: 'Invalid order payload' } });
  });

  test('keys are the same at each call, and differ with the nonce; a key of another place is accepted, and deleted ones are not', async () => {
    const created = (await bot.wallet('POST', '/auth/api-key')).body;
    const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(created).toEqual({
      apiKey: uuid,
      secret: expect.stringMatching(/^[\w-]{43}=$/),
      passphrase: expect.any(String),
    });
    expect((await bot.wallet('GET', '/auth/derive-api-key')).body).toEqual(created);
    const second = (await bot.wallet('GET', '/auth/derive-api-key', {}, '1')).body;
    expect(second.apiKey).not.toBe(created.apiKey);
    expect((await bot.key('GET', '/auth/api-keys')).body).toEqual({ apiKeys: [created.apiKey, second.apiKey] });
    const real = new VenueBot(venue.origin);
    real.credentials = { apiKey: 'of-the-venue', secret: 'c2VjcmV0', passphrase: 'p' };
    expect((await real.key('GET', '/data/orders')).body.data).toEqual([]);
    expect((await real.key('DELETE', '/auth/api-key')).body).toBe('OK');
    expect((await real.key('GET', '/data/orders')).status).toBe(401);
  });

  test('the paths are those of each replay, and under /clob, which clients do not sign', async () => {
    const prefix = `${venue.origin}/replays/${venue.replay.id}`;
    for (const base of [prefix, `${prefix}/clob`, `${venue.origin}/clob`]) {
      const other = await VenueBot.signedIn(base);
      expect((await other.order(other.limit(UP_ASSET, 'BUY', 0.4, 5))).body.status).toBe('live');
      expect((await other.key('GET', '/data/orders?market=1')).body.data).toEqual([]);
    }
    expect(await (await venue.get('/version')).json()).toEqual({ version: 2 });
  });

  test('a replay without accounts has none of these paths, and an endpoint refuses its bad parameters', async () => {
    const plain = venue.replays.create({ ...venue.replay.options });
    const answer = await venue.get(`/replays/${plain.id}/version`);
    expect([answer.status, (await answer.json()).title]).toEqual([404, 'Not found']);
    for (const [method, path, body, error] of [
      ['DELETE', '/order', { orderID: '0x1' }, 'Invalid orderID'],
      ['DELETE', '/orders', ['x'], 'Invalid orderID'],
      ['GET', '/balance-allowance', undefined, 'Invalid asset type'],
      ['GET', '/balance-allowance?asset_type=COLLATERAL&signature_type=4', undefined, 'Invalid signature_type'],
    ] as const) {
      expect(await bot.key(method, path, body)).toEqual({ status: 400, body: { error } });
    }
  });
});

test('A bot buys, queues, sells, cancels and is paid, and every list of the venue agrees, as do the events of its user channel.', async () => {
  await using venue = await startVenue();
  const bot = await VenueBot.signedIn(venue.origin);
  using channel = new UserChannel(venue.origin, bot);
  await channel.opened;
  await channel.ping();
  const balanceOf = async (query: string) => (await bot.key('GET', `/balance-allowance?${query}`)).body.balance;
  const orders = async (query = '') => (await bot.key('GET', `/data/orders${query}`)).body.data;
  expect(await balanceOf('asset_type=COLLATERAL')).toBe('1000000000');

  // A taker of 10 shares at up to 0.53: 7.25 at 0.52 and 2.75 at 0.53.
  const taken = (await bot.order(bot.limit(UP_ASSET, 'BUY', 0.53, 10))).body;
  expect(taken).toEqual({
    ...{
      success: true,
      errorMsg: '',
      orderID: expect.any(String),
      status: 'matched',
      makingAmount: '5.2275',
      takingAmount: '10',
    },
    transactionsHashes: [expect.stringMatching(/^0x[0-9a-f]{64}$/), expect.any(String)],
    tradeIDs: [expect.any(String), expect.any(String)],
  });
  // 0.07 · 7.25 · 0.52 · 0.48 and 0.07 · 2.75 · 0.53 · 0.47, each down to 5 decimals.
  const cash = 1_000_000_000 - 5_227_500 - 126_670 - 47_950;
  expect(await balanceOf('asset_type=COLLATERAL&signature_type=0')).toBe(String(cash));
  expect(await balanceOf(`asset_type=CONDITIONAL&token_id=${UP_ASSET}`)).toBe('10000000');
  expect((await channel.of(2)).map(({ event_type, status, size }) => [event_type, status, size])).toEqual([
    ['trade', 'MATCHED', '7.25'],
    ['trade', 'MATCHED', '2.75'],
  ]);

  // A maker of 10 behind the 30 at 0.5, of which the trade at 10 s fills all.
  const resting = (await bot.order(bot.limit(UP_ASSET, 'BUY', 0.5, 10))).body;
  expect(resting).toMatchObject({ status: 'live', makingAmount: '', takingAmount: '', tradeIDs: [] });
  const [open] = await orders(`?market=${CONDITION_ID}`);
  expect(open).toEqual({
    ...{ id: resting.orderID, status: 'LIVE', owner: bot.credentials.apiKey, maker_address: bot.address },
    ...{ market: CONDITION_ID, asset_id: UP_ASSET, side: 'BUY', original_size: '10', size_matched: '0', price: '0.5' },
    ...{ outcome: 'Up', expiration: '0', order_type: 'GTC', associate_trades: [], created_at: START_MS / 1000 },
  });
  expect(await orders(`?asset_id=${DOWN_ASSET}`)).toEqual([]);
  await venue.play(10_000);
  // A SELL of Up that a sale of Down fills: 20 are ahead of it.
  const sale = (await bot.order(bot.limit(UP_ASSET, 'SELL', 0.53, 12))).body;
  await venue.play(20_000);
  const cancelled = (await bot.order(bot.limit(DOWN_ASSET, 'BUY', 0.3, 5))).body;
  const ids = [cancelled.orderID, sale.orderID, NO_ID];
  const already = "order can't be found - already canceled or matched";
  expect((await bot.key('DELETE', '/orders', ids)).body).toEqual({
    canceled: [cancelled.orderID],
    not_canceled: { [sale.orderID]: already, [NO_ID]: already },
  });
  expect((await bot.key('DELETE', '/order', { orderID: cancelled.orderID })).body).toEqual({
    canceled: [],
    not_canceled: { [cancelled.orderID]: 'the order is already canceled' },
  });
  expect((await bot.key('GET', `/data/order/${cancelled.orderID}`)).body.status).toBe('CANCELED');

  // Lists.
  const { data: trades, ...page } = (await bot.key('GET', '/data/trades')).body;
  expect(page).toEqual({ limit: 100, count: 4, next_cursor: 'LTE=' });
  const [ofSale, ofResting, , ofTaker] = trades;
  expect(ofTaker).toEqual({
    ...{ id: taken.tradeIDs[0], taker_order_id: taken.orderID, market: CONDITION_ID, asset_id: UP_ASSET, side: 'BUY' },
    ...{ size: '7.25', fee_rate_bps: '1000', price: '0.52', status: 'CONFIRMED', match_time: String(START_MS / 1000) },
    ...{ last_update: String(START_MS / 1000 + 5), outcome: 'Up', bucket_index: 0, owner: bot.credentials.apiKey },
    ...{ maker_address: bot.address, transaction_hash: taken.transactionsHashes[0], trader_side: 'TAKER' },
    maker_orders: [
      {
        ...{ order_id: expect.any(String), owner: '00000000-0000-0000-0000-000000000000' },
        ...{ maker_address: `0x${'0'.repeat(40)}`, matched_amount: '7.25', price: '0.52', fee_rate_bps: '0' },
        ...{ asset_id: UP_ASSET, outcome: 'Up', side: 'SELL' },
      },
    ],
  });
  expect(ofResting).toMatchObject({ trader_side: 'MAKER', side: 'SELL', size: '40', price: '0.5', asset_id: UP_ASSET });
  expect(ofResting.maker_orders).toMatchObject([{ order_id: resting.orderID, matched_amount: '10', side: 'BUY' }]);
  // The taker sold Down to nobody: it minted or burned with the SELL of Up.
  expect(ofSale).toMatchObject({
    status: 'MATCHED',
    asset_id: DOWN_ASSET,
    outcome: 'Down',
    price: '0.47',
    side: 'SELL',
    size: '32',
  });
  expect(ofSale.maker_orders).toMatchObject([
    { asset_id: UP_ASSET, price: '0.53', matched_amount: '12', side: 'SELL' },
  ]);
  expect((await bot.key('GET', `/data/trades?id=${ofSale.id}&maker_address=${bot.address}`)).body.count).toBe(1);
  expect((await bot.key('GET', `/data/trades?before=${START_MS / 1000 + 10}`)).body.count).toBe(2);
  expect((await bot.key('GET', `/data/trades?after=${START_MS / 1000 + 10}`)).body.count).toBe(2);

  // The Data API knows the wallet.
  const data = async (path: string) => await (await venue.get(path)).json();
  const activity = await data(`/activity?user=${bot.address}&type=TRADE&limit=2`);
  expect(activity).toMatchObject([
    { proxyWallet: bot.address, type: 'TRADE', side: 'SELL', size: 12, price: 0.53, usdcSize: 6.36, outcome: 'Up' },
    { type: 'TRADE', side: 'BUY', size: 10, price: 0.5, usdcSize: 5, timestamp: START_MS / 1000 + 10 },
  ]);
  expect(await data(`/trades?user=${bot.address}&side=SELL`)).toMatchObject([
    { size: 12, transactionHash: ofSale.transaction_hash },
  ]);
  expect(await data(`/positions?user=${bot.address}`)).toMatchObject([
    { asset: UP_ASSET, oppositeAsset: DOWN_ASSET, size: 8, avgPrice: 0.511375, curPrice: 0.515, currentValue: 4.12 },
  ]);
  expect(await data(`/value?user=${bot.address}`)).toEqual([{ user: bot.address, value: 4.12 }]);
  expect(await data(`/positions?user=0x${'1'.repeat(40)}`)).toEqual([]);

  // The end: an order that rests is closed, and 8 shares of the winner are paid.
  const left = (await bot.order(bot.limit(UP_ASSET, 'BUY', 0.1, 5))).body;
  await venue.play(RESOLVED_MS - START_MS);
  expect((await bot.key('GET', `/data/order/${left.orderID}`)).body).toMatchObject({
    status: 'INVALID',
    size_matched: '0',
  });
  expect(await balanceOf('asset_type=COLLATERAL')).toBe(String(cash - 5_000_000 + 6_360_000 + 8_000_000));
  expect(await balanceOf(`asset_type=CONDITIONAL&token_id=${UP_ASSET}`)).toBe('0');
  expect(await data(`/activity?user=${bot.address}&limit=1`)).toMatchObject([{ type: 'REDEEM', size: 8, usdcSize: 8 }]);

  const events = await channel.of(20);
  const names = new Map<string, string>([
    ...trades.toReversed().map(({ id }: { id: string }, index: number) => [id, `trade ${index}`] as const),
    ...[resting, sale, cancelled, left].map(({ orderID }, index) => [orderID, `order ${index}`] as const),
  ]);
  const byName: Record<string, unknown[]> = {};
  for (const { event_type, type, id, status, size_matched, timestamp } of events) {
    const shown = event_type === 'trade' ? [status, timestamp - START_MS] : [type, status, size_matched];
    byName[names.get(id)!] = [...(byName[names.get(id)!] ?? []), shown];
  }
  const tradeAt = (ms: number) => [
    ['MATCHED', ms],
    ['MINED', ms + 2000],
    ['CONFIRMED', ms + 5000],
  ];
  expect(byName).toEqual({
    'trade 0': tradeAt(0),
    'trade 1': tradeAt(0),
    'order 0': [
      ['PLACEMENT', 'LIVE', '0'],
      ['UPDATE', 'MATCHED', '10'],
    ],
    'trade 2': tradeAt(10_000),
    'order 1': [
      ['PLACEMENT', 'LIVE', '0'],
      ['UPDATE', 'MATCHED', '12'],
    ],
    'trade 3': tradeAt(20_000),
    'order 2': [
      ['PLACEMENT', 'LIVE', '0'],
      ['CANCELLATION', 'CANCELED', '0'],
    ],
    'order 3': [
      ['PLACEMENT', 'LIVE', '0'],
      ['CANCELLATION', 'INVALID', '0'],
    ],
  });
  expect(venue.log).toEqual([]);
});

test('The user channel has the venue’s fields, only the markets that were asked for, and refuses wrong credentials.', async () => {
  await using venue = await startVenue({ takerDelayMs: 250 });
  const bot = await VenueBot.signedIn(venue.origin);
  using wrong = new UserChannel(venue.origin, bot, [], { ...bot.credentials, passphrase: 'p' });
  expect(await wrong.closed).toBe(1008);
  using channel = new UserChannel(venue.origin, bot, [CONDITION_ID.toUpperCase()]);
  using other = new UserChannel(venue.origin, bot, [LATER.conditionId]);
  const stranger = new VenueBot(venue.origin);
  stranger.credentials = { apiKey: 'unknown', secret: 'c2VjcmV0', passphrase: 'p' };
  using early = new UserChannel(venue.origin, stranger);
  for (const each of [channel, other, early]) {
    await each.opened;
    await each.ping();
  }
  const buy = bot.body(
    { tokenId: UP_ASSET, side: 'BUY', makerAmount: micros(30), takerAmount: micros(56.6037) },
    'FOK',
  );
  const { body: answer } = await bot.order(buy);
  expect(answer).toMatchObject({ status: 'delayed', makingAmount: '', takingAmount: '' });
  await venue.play(250);
  const [placed, killed] = await channel.of(2);
  expect(placed).toMatchObject({ type: 'PLACEMENT', status: 'DELAYED', size_matched: '0', price: '0.53' });
  expect(Object.keys(killed)).toEqual([
    ...['id', 'owner', 'market', 'asset_id', 'side', 'order_owner', 'original_size', 'size_matched', 'price'],
    ...['associate_trades', 'outcome', 'type', 'created_at', 'expiration', 'order_type', 'status', 'maker_address'],
    ...['timestamp', 'event_type'],
  ]);
  expect(killed).toMatchObject({
    ...{ id: answer.orderID, type: 'CANCELLATION', original_size: '30', created_at: String(START_MS), outcome: 'Up' },
    ...{ status: "CANCELED_order couldn't be fully filled. FOK orders are fully filled or killed." },
    ...{ timestamp: String(START_MS + 250), event_type: 'order' },
  });
  // A key of another place belongs to the first address that uses it.
  await stranger.order(stranger.limit(UP_ASSET, 'BUY', 0.3, 5));
  expect(await early.of(1)).toMatchObject([{ type: 'PLACEMENT', owner: 'unknown', status: 'LIVE' }]);
  other.send({ operation: 'subscribe', markets: [CONDITION_ID] });
  await other.ping();
  await bot.order(bot.limit(UP_ASSET, 'BUY', 0.3, 5));
  expect(await other.of(1)).toMatchObject([{ type: 'PLACEMENT', status: 'LIVE' }]);
});

test('The silence of an account needs as much time of the replay as of the present.', async () => {
  let nowMs = 0;
  const clock = new ReplayClock({ fromMs: 0, toMs: 10_000 }, 1, () => nowMs);
  const silent: string[] = [];
  const heartbeats = new Heartbeats(clock, (address) => silent.push(address), 20);
  heartbeats.beat('a');
  await Bun.sleep(60);
  expect(silent).toEqual([]);
  clock.resume();
  nowMs = 30;
  while (silent.length === 0) await Bun.sleep(1);
  expect(silent).toEqual(['a']);
  await Bun.sleep(40);
  expect(silent).toEqual(['a']);
});

test('Heartbeats follow each other, and a wrong one gets the id that is expected.', async () => {
  await using venue = await startVenue();
  const bot = await VenueBot.signedIn(venue.origin);
  const beat = (id: string) => bot.key('POST', '/v1/heartbeats', { heartbeat_id: id });
  const first = (await beat('')).body.heartbeat_id;
  expect(await beat('wrong')).toEqual({
    status: 400,
    body: { error_msg: 'Invalid Heartbeat ID', heartbeat_id: first },
  });
  expect((await beat(first)).body.heartbeat_id).not.toBe(first);
  expect((await bot.key('POST', '/heartbeats')).body).toEqual({ status: 'ok' });
});

test('In a rebased replay all times are moved, and an expiration is read as moved.', async () => {
  await using venue = await startVenue({}, { rebase: true });
  venue.replay.resume();
  venue.replay.clock.pause();
  const bot = await VenueBot.signedIn(venue.origin);
  using channel = new UserChannel(venue.origin, bot);
  await channel.opened;
  await channel.ping();
  const seconds = Number(await (await venue.get('/time')).text());
  const gtd = (after: number) =>
    bot.body({ ...bot.limit(UP_ASSET, 'BUY', 0.4, 5).order, expiration: String(seconds + after) }, 'GTD');
  expect((await bot.order(gtd(59))).body).toEqual({ error: 'invalid expiration' });
  const { body } = await bot.order(gtd(120));
  expect(body.status).toBe('live');
  expect(Math.abs((await bot.key('GET', `/data/order/${body.orderID}`)).body.created_at - seconds)).toBeLessThan(2);
  const [placed] = await channel.of(1);
  expect(Math.abs(Number(placed.timestamp) / 1000 - seconds)).toBeLessThan(2);
  expect(END_MS).toBeGreaterThan(START_MS);
});

test('The silence of an address that has no account does nothing.', async () => {
  await using venue = await startVenue();
  const failures: unknown[] = [];
  const desk = new VenueDesk(venue.desk, (error) => failures.push(error), 5);
  for (let i = 0; i < ACCOUNTS_MAX; i += 1) venue.desk.account(`0x${String(i).padStart(40, '0')}`);
  const address = `0x${'f'.repeat(40)}`;
  desk.beat({ apiKey: 'k', address });
  venue.replay.clock.stepTo(START_MS + 1000);
  await Bun.sleep(40);
  expect(failures).toEqual([]);
  expect(venue.desk.find(address)).toBeUndefined();
});

test('The reset of an account drops the frames of its trades, and of no other account.', async () => {
  await using venue = await startVenue();
  const [bot, other] = [await VenueBot.signedIn(venue.origin), await VenueBot.signedIn(venue.origin)];
  using channel = new UserChannel(venue.origin, bot);
  using channelOfOther = new UserChannel(venue.origin, other);
  for (const each of [channel, channelOfOther]) {
    await each.opened;
    await each.ping();
  }
  for (const each of [bot, other]) await each.order(each.limit(UP_ASSET, 'BUY', 0.52, 7));
  await Promise.all([channel.of(1), channelOfOther.of(1)]);
  venue.desk.reset(bot.address);
  await venue.play(10_000);
  expect((await channelOfOther.of(3)).map(({ status }) => status)).toEqual(['MATCHED', 'MINED', 'CONFIRMED']);
  await channel.ping();
  expect((await channel.of(1)).map(({ status }) => status)).toEqual(['MATCHED']);
});

test('Reading makes no account: it begins with its first order.', async () => {
  await using venue = await startVenue();
  const bot = await VenueBot.signedIn(venue.origin);
  expect((await bot.key('GET', '/balance-allowance?asset_type=COLLATERAL')).body.balance).toBe('1000000000');
  expect((await bot.key('GET', '/data/orders')).body.data).toEqual([]);
  expect((await bot.key('DELETE', '/cancel-all')).body).toEqual({ canceled: [], not_canceled: {} });
  expect(venue.desk.accounts()).toEqual([]);
  await bot.order(bot.limit(UP_ASSET, 'BUY', 0.4, 5));
  expect(venue.desk.accounts()).toHaveLength(1);
});

test('An order of one account more than there may be is refused in the venue’s form.', async () => {
  await using venue = await startVenue();
  const bot = await VenueBot.signedIn(venue.origin);
  for (let i = 0; i < ACCOUNTS_MAX; i += 1) venue.desk.account(`0x${String(i).padStart(40, '0')}`);
  const { status, body } = await bot.order(bot.limit(UP_ASSET, 'BUY', 0.4, 5));
  expect({ status, body }).toEqual({ status: 400, body: { error: expect.stringContaining('1000 accounts already') } });
});

test('A cancel that would arrive after the end of the replay is answered with the reason.', async () => {
  await using venue = await startVenue({ latencyMs: 100 }, { toMs: START_MS + 1000 });
  const bot = await VenueBot.signedIn(venue.origin);
  const sent = bot.order(bot.limit(UP_ASSET, 'BUY', 0.4, 5));
  while (venue.desk.find(bot.address)?.orders.size !== 1) await Bun.sleep(1);
  await venue.play(950);
  const id = (await sent).body.orderID;
  const answer = {
    status: 200,
    body: { canceled: [], not_canceled: { [id]: expect.stringContaining('ends before') } },
  };
  expect(await bot.key('DELETE', '/order', { orderID: id })).toEqual(answer);
  expect(await bot.key('DELETE', '/cancel-all')).toEqual(answer);
});

test('A wallet keeps its own account, and its first signer, whoever else names it as maker.', async () => {
  await using venue = await startVenue();
  const [bot, other] = [await VenueBot.signedIn(venue.origin), await VenueBot.signedIn(venue.origin)];
  await bot.order(bot.limit(UP_ASSET, 'BUY', 0.52, 7));
  const wallet = `0x${'7'.repeat(40)}`;
  const proxied = (by: VenueBot, maker: string) =>
    by.order(by.body({ ...by.limit(UP_ASSET, 'BUY', 0.4, 5).order, maker, signatureType: 1 }));
  await proxied(bot, wallet);
  for (const maker of [wallet, bot.address]) await proxied(other, maker);
  for (const user of [wallet, bot.address]) {
    const trades = await (await venue.get(`/activity?user=${user}`)).json();
    expect(trades).toHaveLength(1);
  }
});

test('Keys have a limit, and a secret that the address does not tell.', () => {
  const keys = new ApiKeys();
  const address = `0x${'a'.repeat(40)}`;
  const made = keys.derive(address, '0')!;
  const guessed = createHash('sha256').update(`secret ${address} 0`).digest('base64url');
  expect(made.secret).not.toBe(`${guessed}=`);
  expect(new ApiKeys().derive(address, '0')).toEqual(made);
  for (let i = 1; i < 10_000; i += 1) keys.derive(address, String(i));
  expect(keys.derive(address, '10000')).toBeUndefined();
  expect(keys.derive(address, '0')).toEqual(made);
});

test.each([0, 0.0000001, 1.0000001])('A merge of %d pairs is refused.', async (shares) => {
  await using venue = await startVenue();
  const bot = await VenueBot.signedIn(venue.origin);
  await bot.order(bot.limit(UP_ASSET, 'BUY', 0.52, 7));
  await bot.order(bot.limit(DOWN_ASSET, 'BUY', 0.6, 7));
  const path = `/v1/replays/${venue.replay.id}/accounts/${bot.address}/merge`;
  expect((await venue.ask('POST', path, { market: CONDITION_ID, shares })).status).toBe(400);
});

test('A session of the user channel sends for a few milliseconds, then others have their turn; a frame reads no older events.', async () => {
  await using venue = await startVenue();
  const bot = await VenueBot.signedIn(venue.origin);
  await bot.order(bot.limit(UP_ASSET, 'BUY', 0.4, 5));
  const account = venue.desk.find(bot.address)!;
  const live = account.events.find((event) => event.kind === 'live')!;
  const restAgain = () => account.note(account.find(live.order.id)!, live.atMs, { ...live });
  const turns: (() => void)[] = [];
  let passedMs = 0;
  const monotonicMs = () => {
    passedMs += 1;
    return passedMs;
  };
  const frames: string[] = [];
  const connection = {
    send: (text: string) => frames.push(text) > 0,
    together: (work: () => void) => work(),
    close: () => {},
  } as unknown as Connection;
  const queue = { add: (work: () => void) => turns.push(work), remove: () => {}, next: async () => {} };
  const desk = new VenueDesk(venue.desk, () => {});
  desk.keys.derive(bot.address, '0');

  const deps = { replay: venue.replay, connection, queue, monotonicMs, failed: () => {} };
  const session = new UserSession(deps, desk);
  session.received(JSON.stringify({ type: 'user', auth: bot.credentials, markets: [] }));
  await desk.place({ apiKey: bot.credentials.apiKey, address: bot.address.toLowerCase() }, [
    orderBody(orderJson(JSON.stringify(bot.limit(UP_ASSET, 'BUY', 0.4, 5))))!,
  ]);
  for (let i = 0; i < 30; i += 1) restAgain();
  let taken = 0;
  while (frames.length < 31) {
    while (turns.length === 0) await Bun.sleep(1);
    turns.shift()!();
    taken += 1;
  }
  expect(taken).toBeGreaterThan(5);
  const reads = spyOn(account.events, 'slice');
  restAgain();
  while (turns.length === 0) await Bun.sleep(1);
  turns.shift()!();
  expect(frames).toHaveLength(32);
  expect(reads).not.toHaveBeenCalled();
  session.closed();
});

test('A page of trades or of activity makes no rows but its own.', async () => {
  await using venue = await startVenue();
  const bot = await VenueBot.signedIn(venue.origin);
  await bot.order(bot.limit(UP_ASSET, 'BUY', 0.53, 10));
  const made = spyOn(VenueAccount.prototype, 'trade');
  const page = await (await venue.get(`/activity?user=${bot.address}&limit=1&offset=1`)).json();
  expect(page).toHaveLength(1);
  expect(made).toHaveBeenCalledTimes(1);
  made.mockClear();
  expect((await bot.key('GET', '/data/trades?next_cursor=MQ==')).body.data).toHaveLength(1);
  expect(made).toHaveBeenCalledTimes(1);
  made.mockRestore();
});
