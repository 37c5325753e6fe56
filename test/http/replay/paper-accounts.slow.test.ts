import { expect, test } from 'bun:test';
import { FormatRegistry, Type } from 'typebox';
import { Value } from 'typebox/value';
import { AccountResource, AccountSummary } from '../../../src/http/replay/account-resource.ts';
import type { OrderTerms } from '../../../src/paper/paper-order.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { EventResource } from '../../../src/trading/event-resource.ts';
import { DEFAULT_RULES } from '../../../src/trading/paper-rules.ts';
import { importRecords } from '../../support/archive.ts';
import { sampleMarket, sampleSnapshot } from '../../support/sample-records.ts';
import { EVERYTHING, startReplaying } from './replaying.ts';

// TypeBox knows no formats of its own.
FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)));

const REPLAYS = '/v1/replays';
const ADDRESS = `0x${'ab'.repeat(20)}`;
const BUY: OrderTerms = {
  ...{ id: 'a', outcome: 'up', side: 'buy', type: 'GTC', price: 0.52, amount: 10_000_000 },
  ...{ isPostOnly: false, expirationMs: undefined },
};

/** A process with a replay that has an account, with the body that creates it; the order acts at once. */
async function started(body: object = { paper: true, latency: 0, takerDelay: 0 }) {
  const replaying = await startReplaying((archive) => importRecords(archive, [sampleMarket(), sampleSnapshot()]));
  const { data } = (await (await replaying.ask('POST', REPLAYS, { paused: true, ...body })).json()) as {
    data: { id: string; paper: object };
  };
  const desk = replaying.desks.existing(replaying.replays.find(data.id));
  const market = replaying.archive.markets.named(sampleMarket().slug)[0]!;
  const path = `${REPLAYS}/${data.id}/accounts`;
  return {
    ...{ replaying, desk, path, created: data },
    send: async (terms: Partial<OrderTerms> = {}) =>
      await desk.send(desk.account(ADDRESS), market, { ...BUY, ...terms }),
    get: async (rest = '') => {
      const response = await replaying.get(`${path}${rest}`);
      return { ...((await response.json()) as { data: unknown; nextAfter?: number | null }), status: response.status };
    },
    [Symbol.asyncDispose]: () => replaying[Symbol.asyncDispose](),
  };
}

test.each([
  [{ cash: 5 }, 'cash: add paper'],
  [{ paper: false, latency: 0, takerDelay: 'venue' }, 'latency, taker delay: add paper'],
  [{ fees: 'none', queue: 'mid' }, 'fees, queue: add paper'],
  [{ paper: true, cash: 0 }, 'more than 0 dollars'],
  [{ paper: true, cash: 0.0000001 }, 'at most 6 decimals'],
  [{ paper: true, cash: 1e10 }, "'cash' is invalid"],
  [{ paper: true, latency: -1 }, "'latency' is invalid"],
  [{ paper: true, takerDelay: 'soon' }, "'takerDelay' is invalid"],
  [{ paper: true, queue: 'last' }, "'queue' is invalid"],
] as const)('The settings of accounts %j are refused: %s', async (body, sentence) => {
  await using replaying = await startReplaying((archive) => importRecords(archive, [sampleMarket(), sampleSnapshot()]));
  const response = await replaying.ask('POST', REPLAYS, body);
  expect(response.status).toBe(400);
  expect(((await response.json()) as { detail: string }).detail).toContain(sentence);
  expect(replaying.replays.list()).toEqual([]);
});

test('A replay states the settings of its accounts; one without --paper has no accounts, and says how to get some.', async () => {
  await using one = await started({ paper: true, cash: 12.5, takerDelay: 250, fees: 'none', queue: 'front' });
  const paper = { cash: 12.5, latency: 40, takerDelay: 250, fees: 'none', queue: 'front', accounts: 0 };
  expect(one.created.paper).toEqual(paper);
  one.desk.account(ADDRESS);
  const [shown] = ((await (await one.replaying.get(REPLAYS)).json()) as { data: { paper: object }[] }).data;
  expect(shown!.paper).toEqual({ ...paper, accounts: 1 });
  const { data } = (await (await one.replaying.ask('POST', REPLAYS, {})).json()) as {
    data: { id: string; paper: null };
  };
  expect(data.paper).toBeNull();
  const refused = await one.replaying.get(`${REPLAYS}/${data.id}/accounts`);
  expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
    409,
    expect.stringContaining('--paper'),
  ]);
});

test('An account shows its dollars, shares, open orders, the rules of its markets, and its history in pages.', async () => {
  await using one = await started();
  await one.send();
  await one.send({ id: 'b', price: 0.5 });
  await one.send({ id: 'c', price: 0.99, amount: 10_000_000_000 });
  const { data: list } = await one.get();
  expect([...Value.Errors(Type.Array(AccountSummary), list)]).toEqual([]);
  // 7.25 shares at 0.52 with a fee of 7.25 × 0.07 × 0.52 × 0.48, down to 5 decimals, and a reservation of 2.75 at 0.52 and of 10 at 0.5 with such fees.
  expect(list).toEqual([
    {
      address: ADDRESS,
      cash: '996.10333',
      reserved: '6.65304',
      realised: '-0.12667',
      orders: 3,
      openOrders: 2,
      events: 5,
    },
  ]);
  const { data: account } = (await one.get(`/${ADDRESS.toUpperCase().replace('X', 'x')}`)) as { data: AccountResource };
  expect([...Value.Errors(AccountResource, account)]).toEqual([]);
  expect(account.markets).toMatchObject([
    { slug: sampleMarket().slug, up: { shares: '7.25', cost: '3.77' }, feeRate: 0.07, takerDelay: 0 },
  ]);
  expect(account.open).toMatchObject([
    { id: 'a', left: '2.75', filled: '7.25', state: 'live' },
    { id: 'b', left: '10', filled: '0' },
  ]);
  const { data: events } = (await one.get(`/${ADDRESS}/events`)) as { data: EventResource[] };
  expect([...Value.Errors(Type.Array(EventResource), events)]).toEqual([]);
  expect(events.map(({ id, kind, order }) => `${id} ${kind} ${order?.id}`)).toEqual([
    ...['1 deposit undefined', '2 fill a', '3 live a', '4 live b', '5 refused c'],
  ]);
  expect(events[1]!.fill).toMatchObject({
    ...{ number: 1, role: 'taker', price: 0.52, shares: '7.25', cost: '3.77', fee: '0.12667' },
    evidence: { kind: 'book', id: 1, outcome: 'up', price: 0.52, shares: '7.25', taken: '0', queue: null, side: null },
  });
  expect(events[4]!.funds).toEqual({ balance: '996.10333', reserved: '6.65304', needed: expect.any(String) });
  for (const [query, ids] of [
    ['?limit=2', [1, 2]],
    ['?limit=2&after=2', [3, 4]],
    ['?order=a', [2, 3]],
    ['?fill=1', [2]],
    ['?fill=2', []],
    [`?market=${sampleMarket().slug}`, [2, 3, 4, 5]],
    ['?market=other', []],
  ] as const) {
    const page = (await one.get(`/${ADDRESS}/events${query}`)) as unknown as {
      data: { id: number }[];
      nextAfter: number;
    };
    expect([query, page.data.map(({ id }) => id)]).toEqual([query, [...ids]]);
    expect(page.nextAfter as unknown).toBe(query.startsWith('?limit=2') ? ids.at(-1)! : null);
  }
  for (const query of ['?limit=0', '?after=x', '?from=1', '?fill=-1'])
    expect([query, (await one.get(`/${ADDRESS}/events${query}`)).status]).toEqual([query, 400]);
});

test('An account is reset, and merges pairs of shares; others are not found.', async () => {
  await using one = await started({ paper: true, latency: 0, takerDelay: 0, fees: 'none' });
  const { ask } = one.replaying;
  const merge = async (body: object) => await ask('POST', `${one.path}/${ADDRESS}/merge`, body);
  expect((await merge({ market: sampleMarket().slug, shares: 1 })).status).toBe(404);
  await one.send({ amount: 5_000_000 });
  await one.send({ id: 'b', outcome: 'down', price: 0.49, amount: 5_000_000 });
  expect((await merge({ market: sampleMarket().slug, shares: 5.1 })).status).toBe(409);
  expect((await merge({ market: 'other', shares: 1 })).status).toBe(404);
  for (const body of [{}, { market: sampleMarket().slug, shares: 0 }, { market: sampleMarket().slug, shares: 1, x: 1 }])
    expect((await merge(body)).status).toBe(400);
  const merged = await merge({ market: sampleMarket().slug, shares: 5 });
  expect(await merged.json()).toMatchObject({ data: { cash: '999.95', realised: '-0.05', openOrders: 0 } });
  expect((await ask('DELETE', `${one.path}/${ADDRESS}`)).status).toBe(204);
  expect((await one.get()).data).toEqual([]);
  for (const method of ['GET', 'DELETE']) expect((await ask(method, `${one.path}/${ADDRESS}`)).status).toBe(404);
});

test('Only the key that created a replay merges and resets its accounts; others read those of a replay that they may use.', async () => {
  const fill = (archive: Archive) => importRecords(archive, [sampleMarket(), sampleSnapshot()]);
  await using replaying = await startReplaying(fill, { needsKeys: true });
  const bearer = () => ({ authorization: `Bearer ${replaying.keyOf('pro')}` });
  const [key, other] = [bearer(), bearer()];
  const created = await replaying.ask('POST', REPLAYS, { paper: true, latency: 0, takerDelay: 0, paused: true }, key);
  const { data } = (await created.json()) as { data: { id: string } };
  const operators = replaying.replays.create(EVERYTHING);
  const market = replaying.archive.markets.named(sampleMarket().slug)[0]!;
  for (const replay of [replaying.replays.find(data.id), operators]) {
    const desk = replaying.desks.of(replay) ?? replaying.desks.open(replay, { ...DEFAULT_RULES, latencyMs: 0 });
    const account = desk.account(ADDRESS);
    await desk.send(account, market, { ...BUY, type: 'FAK', amount: 6_000_000, price: 0.99 });
    await desk.send(account, market, { ...BUY, id: 'b', outcome: 'down', type: 'FAK', amount: 6_000_000, price: 0.99 });
  }
  const statusOf = async (method: string, id: string, path: string, headers: Readonly<Record<string, string>>) => {
    const body = method === 'POST' ? { market: market.slug, shares: 1 } : undefined;
    return (await replaying.ask(method, `${REPLAYS}/${id}/accounts/${ADDRESS}${path}`, body, headers)).status;
  };
  const statuses = async (id: string, headers: Readonly<Record<string, string>>) => [
    await statusOf('GET', id, '', headers),
    await statusOf('POST', id, '/merge', headers),
    await statusOf('DELETE', id, '', headers),
  ];
  expect(await statuses(data.id, other)).toEqual([404, 404, 404]);
  expect(await statuses(operators.id, other)).toEqual([200, 403, 403]);
  expect(await statuses(data.id, {})).toEqual([401, 401, 401]);
  expect(await statuses(data.id, key)).toEqual([200, 200, 204]);
});
