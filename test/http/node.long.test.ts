import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Deletion } from '../../src/store/deletion.ts';
import { type Client, clientOf, type Reply } from '../contract/client.ts';
import { serveInProcess } from '../contract/in-process-target.ts';
import { QUESTIONS } from '../contract/questions.ts';
import { BOOKS, ETH, RECORDS, SOL, T0 } from '../contract/recording.ts';
import { expectSamePages, shown } from '../contract/same-answers.ts';
import { AMPLE_RPM, type Target } from '../contract/target.ts';
import { until } from '../fault/served.ts';
import { importRecords, type TemporaryArchive, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { BucketServer } from '../support/bucket-server.ts';
import { publishBooks, startNode, type TestNode } from '../support/node.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';

setDefaultTimeout(120_000);

const OF_BOOKS = `/v1/btc/markets/${BOOKS.conditionId}`;

/** Home with all markets sealed but one, and a bucket with their files. */
interface Home extends AsyncDisposable {
  readonly held: TemporaryArchive;
  readonly target: Target;
  readonly storage: BucketServer;
  readonly key: string;
  readonly client: Client;
  node(options?: Parameters<typeof startNode>[2]): TestNode;
}

async function openHome(): Promise<Home> {
  const held = temporaryArchive();
  await importRecords(held.archive, RECORDS);
  sealAll(held.archive);
  unseal(held, SOL.conditionId);
  const storage = await BucketServer.start();
  publishBooks(held.archive, storage);
  const target = serveInProcess(held);
  const { key } = await target.makeKey('enterprise', { rpm: AMPLE_RPM });
  return {
    ...{ held, target, storage, key, client: clientOf(target.origin, key) },
    node: (options) =>
      startNode({ ...held, archive: held.archive, registry: held.registry, origin: target.origin }, storage, options),
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
    },
  };
}

function unseal({ archive }: TemporaryArchive, conditionId: string): void {
  archive.database.write(() => {
    const market = archive.markets.findByConditionId(conditionId)!;
    archive.sealed.unsealSeries(archive.series.find(market.key, 'up', 'book')!);
  });
}

/** A client that also takes refusals. */
const plain =
  (origin: string) =>
  async (path: string): Promise<Reply> => {
    const response = await fetch(`${origin}${path}`, { headers: { authorization: `Bearer ${home.key}` } });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    return { status: response.status, headers: response.headers, bytes, text, json: <T>() => JSON.parse(text) as T };
  };
const gets = ({ requests }: BucketServer) => requests.filter(({ method }) => method === 'GET').map(({ name }) => name);
const held: AsyncDisposable[] = [];
let home: Home;
let node: TestNode;
let ofNode: Client;
beforeAll(async () => {
  home = await openHome();
  node = home.node();
  held.push(node, home);
  ofNode = clientOf(node.origin, home.key);
  expect(sealedMarkets(home.held.archive).length).toBeGreaterThan(3);
  expect(readdirSync(join(node.path, 'books'))).toEqual([]);
});
afterAll(async () => {
  for (const each of held) await each[Symbol.asyncDispose]();
});

test.each([
  ['application/json', 'identity'],
  ['application/json', 'gzip'],
  ['application/msgpack', 'zstd'],
  ['text/csv', 'identity'],
])(
  'Every answer of a node as %s with %s is that of home: sealed markets and others, bytes, entity tags and other headers.',
  async (accept, encoding) => {
    const headers = { accept, 'accept-encoding': encoding };
    for (const path of QUESTIONS) {
      const [expected, found] = await Promise.all([home.client, ofNode].map((get) => get(path, { headers })));
      expect(shown(path, found!)).toEqual(shown(path, expected!));
      if (encoding === 'zstd') {
        const head = await ofNode(path, { headers, method: 'HEAD' });
        expect(shown(path, head)).toEqual(shown(path, await home.client(path, { headers, method: 'HEAD' })));
      }
      const etag = expected!.headers.get('etag');
      if (etag === null) continue;
      const again = await ofNode(path, { headers: { ...headers, 'if-none-match': etag } });
      expect([path, again.status]).toEqual([path, 304]);
    }
    expect(node.warnings).toEqual([]);
  },
);

test('A cursor of home goes on at a node, and the other way round.', async () => {
  await expectSamePages(home.client, ofNode);
});

test('A node sends on what it cannot answer, and nothing else of /v1.', () => {
  const OF_HOME = new RegExp(
    [SOL.conditionId, '^/v1/\\w+/prices\\?limit=', 'asOf=', '^/(?:nothing)?$', '^/v1/(?:account|billing)'].join('|'),
  );
  expect(node.forwarded.filter((path) => !OF_HOME.test(path))).toEqual([]);
  for (const path of [`/v1/sol/markets/${SOL.conditionId}/stream`, '/v1/btc/prices', '/v1/billing/tiers']) {
    expect(node.forwarded.some((each) => each.startsWith(path))).toBe(true);
  }
});

test('A hundred requests at once for a market that is not on the node are one GET of its file.', async () => {
  await using cold = home.node();
  home.storage.requests.length = 0;
  const expected = await home.client(`${OF_BOOKS}/snapshots?limit=1000`);
  const replies = await Promise.all(
    Array.from({ length: 100 }, () => clientOf(cold.origin, home.key)(`${OF_BOOKS}/snapshots?limit=1000`)),
  );
  expect(new Set(replies.map(({ text }) => text))).toEqual(new Set([expected.text]));
  expect(gets(home.storage)).toHaveLength(1);
  expect(cold.books.readings).toMatchObject({ files: 1, fetches: 1, misses: 100 });
});

test('The first of the midpoints, streams, exports, heat maps and coverages of a cold node are those of home.', async () => {
  for (const kind of [
    '/stream?speed=max',
    '/export',
    '/heatmap?columns=40',
    '/coverage',
    '/prices?limit=3',
    '?include=counts',
  ]) {
    await using cold = home.node();
    const path = `${OF_BOOKS}${kind}`;
    expect(shown(path, await clientOf(cold.origin, home.key)(path))).toEqual(shown(path, await home.client(path)));
  }
  await using cold = home.node();
  const path = `/v1/btc/midpoints?markets=${BOOKS.slug},btc-nearest,BTC-Recorded-5m&points=7`;
  expect(shown(path, await clientOf(cold.origin, home.key)(path))).toEqual(shown(path, await home.client(path)));
  expect(cold.books.readings.fetches).toBeGreaterThan(1);
});

test.each(['flip', 'cut'] as const)(
  'A file that arrives with a fault (%s) is asked for again, and refused if it stays: nothing of it is kept.',
  async (fault) => {
    await using cold = home.node();
    const get = plain(cold.origin);
    home.storage.fault = ({ method }) => (method === 'GET' ? fault : undefined);
    try {
      expect((await get(`${OF_BOOKS}/snapshots`)).status).toBe(503);
      expect(cold.books.readings.files).toBe(0);
      expect(
        readdirSync(join(cold.path, 'books')).flatMap((day) => readdirSync(join(cold.path, 'books', day))),
      ).toEqual([]);
      expect(cold.warnings.join()).toContain(fault === 'flip' ? 'is damaged' : 'wait for the storage');
    } finally {
      home.storage.fault = () => undefined;
    }
    await until('it is asked for again', async () => (await get(`${OF_BOOKS}/snapshots`)).status === 200);
    expect((await get(`${OF_BOOKS}/snapshots`)).text).toBe((await home.client(`${OF_BOOKS}/snapshots`)).text);
  },
);

test.each([
  ['cut', (bytes: Buffer) => bytes.subarray(1)],
  ['overwritten', (bytes: Buffer) => Buffer.alloc(bytes.length)],
] as const)('A file that was %s on the disk of a node is fetched again.', async (_, damage) => {
  await using cold = home.node();
  const market = cold.archive.database.read(
    () => cold.archive.sealed.byKey(cold.archive.markets.findByConditionId(BOOKS.conditionId)!.key)!,
  );
  await cold.books.fetch(market);
  const place = cold.archive.sealed.placeOf(market);
  writeFileSync(place, damage(readFileSync(place)));
  const path = `${OF_BOOKS}/snapshots`;
  expect(shown(path, await clientOf(cold.origin, home.key)(path))).toEqual(shown(path, await home.client(path)));
  expect(cold.books.readings).toMatchObject({ files: 1, fetches: 2 });
});

test.each(['hang', 'drop'] as const)(
  'Without storage (%s) a node answers what it has, and refuses the rest with one sentence; later it answers again.',
  async (fault) => {
    await using cold = home.node();
    const get = plain(cold.origin);
    const warm = await get(`${OF_BOOKS}/snapshots`);
    home.storage.fault = () => fault;
    const ofEth = `/v1/eth/markets/${ETH.conditionId}/snapshots`;
    try {
      const asked = performance.now();
      const refused = await get(ofEth);
      const second = await get(`/v1/btc/markets/btc-nearest/snapshots`);
      for (const reply of [refused, second]) {
        expect(reply.status).toBe(503);
        expect(reply.json<{ detail: string }>().detail).toBe(
          'the books of this market are not on this node, and their storage does not answer: try again in a few seconds',
        );
        expect(reply.headers.get('retry-after')).toBe('1');
      }
      // The test of times is in the campaign: this says only that a request does not wait for all tries.
      expect(performance.now() - asked).toBeLessThan(20_000);
      expect((await get(`${OF_BOOKS}/snapshots`)).text).toBe(warm.text);
      expect(cold.warnings).toHaveLength(1);
    } finally {
      home.storage.fault = () => undefined;
    }
    await until('the storage is asked again', async () => (await get(ofEth)).status === 200);
    expect((await get(ofEth)).text).toBe((await home.client(ofEth)).text);
    expect(cold.warnings.at(-1)).toBe('the storage of books answers again');
  },
);

test('A market that is deleted, sealed again or not sealed any more at home is so at the node, and old files go.', async () => {
  await using other = await openHome();
  await using one = other.node();
  const get = clientOf(one.origin, other.key);
  const paths = [OF_BOOKS, `${OF_BOOKS}/snapshots`, `/v1/eth/markets/${ETH.conditionId}/coverage`];
  const compare = async () => {
    for (const path of paths) expect(shown(path, await get(path))).toEqual(shown(path, await other.client(path)));
  };
  await compare();
  const first = sealedMarkets(other.held.archive).map(({ path }) => join(one.path, 'books', path));
  expect(first.filter((place) => existsSync(place))).toHaveLength(2);
  unseal(other.held, BOOKS.conditionId);
  one.follow();
  const before = one.forwarded.length;
  await compare();
  expect(one.forwarded.length).toBe(before + 2);
  sealAll(other.held.archive);
  publishBooks(other.held.archive, other.storage);
  one.follow();
  await compare();
  expect(one.forwarded.length).toBe(before + 2);
  const market = other.held.archive.database.read(() => other.held.archive.markets.findByConditionId(ETH.conditionId)!);
  const filter = { marketKeys: [market.key], coins: undefined, sources: undefined, beforeMs: undefined };
  for (const _ of new Deletion(other.held.archive, filter).run());
  one.follow();
  await compare();
  expect((await get(paths[2]!)).status).toBe(404);
  const { archive, books } = one;
  await books.sweep((path) => archive.database.read(() => archive.sealed.names(path)));
  const named = sealedMarkets(other.held.archive).map(({ path }) => join(one.path, 'books', path));
  expect(first.filter((place) => existsSync(place) && !named.includes(place))).toEqual([]);
  expect(named.filter((place) => existsSync(place))).toHaveLength(1);
});

test('Files go when there are too many bytes, the last used ones last, while a long answer reads one of them.', async () => {
  const bytes = new Map(sealedMarkets(home.held.archive).map(({ path, bytes: size }) => [path, size]));
  const bytesMax = Math.max(...bytes.values()) * 2;
  await using small = home.node({ bytesMax });
  const get = clientOf(small.origin, home.key);
  const headers = { authorization: `Bearer ${home.key}`, accept: 'text/event-stream' };
  const slow = await fetch(`${small.origin}${OF_BOOKS}/stream?speed=max`, { headers });
  const onDisk = () =>
    readdirSync(join(small.path, 'books')).flatMap((day) =>
      readdirSync(join(small.path, 'books', day)).map((name) => statSync(join(small.path, 'books', day, name)).size),
    );
  for (let round = 0; round < 3; round += 1) {
    for (const [path] of bytes) {
      const conditionId = /(0x[0-9a-f]+)-/.exec(path)![1]!;
      const { symbol } = home.held.archive.database.read(
        () => home.held.archive.markets.findByConditionId(conditionId)!,
      );
      const asked = `/v1/${symbol}/markets/${conditionId}/snapshots?limit=1000`;
      expect((await get(asked)).text).toBe((await home.client(asked)).text);
      expect(onDisk().reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(bytesMax);
    }
  }
  expect(small.books.readings.fetches).toBeGreaterThan(bytes.size);
  expect(await slow.text()).toBe((await home.client(`${OF_BOOKS}/stream?speed=max`)).text);
});

test('Files of an earlier process are read once before they are used, and a changed one is fetched again.', async () => {
  using directory = temporaryDirectory();
  const again = () => home.node({ directory: { path: directory.path, [Symbol.dispose]: () => undefined } });
  const asked = `${OF_BOOKS}/snapshots?limit=1000`;
  const expected = (await home.client(asked)).text;
  const ask = async () => {
    await using one = again();
    expect((await clientOf(one.origin, home.key)(asked)).text).toBe(expected);
    return one.books.readings.fetches;
  };
  expect(await ask()).toBe(1);
  expect(await ask()).toBe(0);
  const market = sealedMarkets(home.held.archive).find(({ path }) => path.includes(BOOKS.conditionId.toLowerCase()))!;
  const place = join(directory.path, 'books', market.path);
  const bytes = readFileSync(place);
  bytes[bytes.length - 100]! ^= 1;
  writeFileSync(place, bytes);
  writeFileSync(`${place}.partial-0123456789ab`, 'a part');
  expect(await ask()).toBe(1);
  expect(existsSync(`${place}.partial-0123456789ab`)).toBe(false);
  await using one = again();
  expect((await clientOf(one.origin, home.key)(asked)).text).toBe(expected);
  rmSync(place);
  expect((await clientOf(one.origin, home.key)(`${asked}&order=desc`)).status).toBe(200);
});

test('Without home a node answers from its books, and refuses what only home can answer with 503.', async () => {
  await using alone = home.node({ isHomeAway: () => true });
  const get = plain(alone.origin);
  for (const path of [OF_BOOKS, `${OF_BOOKS}/snapshots`, '/v1/btc/markets', '/v1/coins', '/openapi.json', '/healthz']) {
    expect([path, (await get(path)).status]).toEqual([path, 200]);
  }
  for (const path of [
    `/v1/sol/markets/${SOL.conditionId}`,
    `/v1/btc/days?asOf=${T0}`,
    '/',
    '/account',
    '/v1/billing/tiers',
  ]) {
    const reply = await get(path);
    expect([path, reply.status, reply.json<{ detail: string }>().detail]).toEqual([path, 503, 'home is away']);
    expect(reply.headers.get('x-request-id')).toBe(reply.json<{ requestId: string }>().requestId);
  }
});
