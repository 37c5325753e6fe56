import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../fault/served.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { BucketServer } from '../support/bucket-server.ts';
import { answered, ask, askPatiently, type Question, questionsAbout } from './answers.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { type HomeData, homeData } from './clustered.ts';

/** Home, a node and a storage that does what a test says. `nodes.campaign.test.ts` has three nodes, with Ceph and Redis. */

const QUESTIONS = 200;
const SEALED = 12;
const AT_ONCE = 100;
const COUNTED = 40;

const directory = temporaryDirectory();
let bucket: BucketServer;
let home: HomeData;
let cluster: Cluster;
let key: string;
let keyId: string;

beforeAll(async () => {
  bucket = await BucketServer.start();
  home = await homeData(directory.path, SEALED);
  ({ key, id: keyId } = await home.keyOf());
  cluster = await startCluster({
    directory: directory.path,
    data: home.data,
    nodes: 1,
    storage: bucket.environment,
  });
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await bucket[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});

const node = () => cluster.nodes[0]!;
const atNode = async (question: Question, as = key) => await ask(node().origin, as, question);
const answerOf = async (question: Question, as = key, onBusy?: () => void) =>
  await askPatiently(node().origin, as, question, onBusy);
const pageOf = ({ symbol, conditionId }: { readonly symbol: string; readonly conditionId: string }): Question => ({
  path: `/v1/${symbol}/markets/${conditionId}/snapshots?limit=5`,
});
const bookRequests = () => bucket.requests.filter(({ name }) => name.includes('/books/')).length;

test('A node answers every question as home does: status, body, entity tag, cursor and headers.', async () => {
  const questions = questionsAbout([...home.sealed, ...home.open], 1)
    .take(QUESTIONS)
    .toArray();
  const statuses = new Map<number, number>();
  for (const question of questions) {
    const [ours, theirs] = await Promise.all([answerOf(question), askPatiently(cluster.home.origin, key, question)]);
    const [tag, path] = [ours.headers.get('etag'), question.path];
    const answer = await answered(ours);
    expect({ path, ...answer }).toEqual({ path, ...(await answered(theirs)) });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (tag === null) continue;
    const again = await answerOf({ ...question, headers: { ...question.headers, 'if-none-match': tag } });
    expect({ path, status: again.status }).toEqual({ path, status: 304 });
  }
  // The questions are worth asking.
  expect(statuses.get(200)).toBeGreaterThan(QUESTIONS / 2);
  expect(statuses.get(404)).toBeGreaterThan(0);
  for (const status of statuses.keys()) expect([200, 400, 404]).toContain(status);
});

test('A walk that begins at home continues at a node, and the other way round.', async () => {
  const [market] = home.sealed;
  let [path, pages] = [pageOf(market!).path, 0];
  for (let cursor: string | null = ''; cursor !== null; pages += 1) {
    const origin = pages % 2 === 0 ? cluster.home.origin : node().origin;
    const question = { path: cursor === '' ? path : `${path}&cursor=${cursor}` };
    const answer = (await (await askPatiently(origin, key, question)).json()) as {
      nextCursor: string | null;
      data: unknown[];
    };
    expect(answer.data.length).toBeGreaterThan(0);
    cursor = answer.nextCursor;
  }
  expect(pages).toBeGreaterThan(10);
});

test('A node fetches the file of a market once for a hundred requests.', async () => {
  const [other, ...cold] = home.sealed;
  await node().end();
  rmSync(join(directory.path, 'node1', 'books'), { recursive: true });
  await node().start();
  await until('it knows the key', async () => (await atNode(pageOf(other!))).status === 200);
  const fetches = async () => (await node().scrape()).sum('bookreel_node_book_fetches_total');
  for (const market of cold) {
    const before = await fetches();
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, async () => await answered(await atNode(pageOf(market)))),
    );
    // A busy machine may take more than a second for a file: then nodes refuse.
    if (answers.some(({ status }) => status === 503)) continue;
    expect(new Set(answers.map(({ status, digest }) => `${status} ${digest}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(200);
    expect(await fetches()).toBe(before + 1);
    return;
  }
});

test('A request of a market that is not sealed is answered by home through the node, and counted once.', async () => {
  const limited = await home.keyOf(1000);
  await until(
    'the node knows the key',
    async () => (await atNode(pageOf(home.sealed[0]!), limited.key)).status === 200,
  );
  let busy = 0;
  const remaining = async (question: Question) => {
    const answer = await answerOf(question, limited.key, () => {
      busy += 1;
    });
    return Number(answer.headers.get('x-ratelimit-remaining')) + busy;
  };
  const first = await remaining(pageOf(home.sealed[0]!));
  expect(await remaining(pageOf(home.open[0]!))).toBe(first - 1);
  expect(await remaining(pageOf(home.sealed[0]!))).toBe(first - 2);
});

test('A revoked key is refused by every node, and one that was just created is accepted.', async () => {
  const { id, key: fresh } = await home.keyOf();
  await until('it is accepted', async () => (await atNode(pageOf(home.sealed[0]!), fresh)).status === 200);
  await home.run('key', 'revoke', id);
  await until('it is refused', async () => (await atNode(pageOf(home.sealed[0]!), fresh)).status === 401);
});

test('An object that was changed in the bucket is refused, and served again once it is right.', async () => {
  const [market] = await home.grow(1);
  bucket.fault = ({ method, name }) => (method === 'GET' && name.includes('/books/') ? 'flip' : undefined);
  await until('the node has it', async () => (await atNode({ path: `/v1/btc/markets/${market!.conditionId}` })).ok);
  await until('home has published it, and the node refuses it', async () => {
    const answer = await atNode(pageOf(market!));
    return (await answer.text()).includes('urn:bookreel:problem:unavailable') && answer.status === 503;
  });
  bucket.fault = () => undefined;
  await until('it is served', async () => (await atNode(pageOf(market!))).status === 200);
  const [ours, theirs] = [await answerOf(pageOf(market!)), await ask(cluster.home.origin, key, pageOf(market!))];
  expect(await answered(ours)).toEqual(await answered(theirs));
});

test('Usage of a node is counted at home, each request once.', async () => {
  const { key: counted } = await home.keyOf();
  await until('the node knows the key', async () => (await atNode(pageOf(home.sealed[0]!), counted)).status !== 401);
  let asked = 1;
  for (let request = 1; request < COUNTED; request += 1, asked += 1) {
    const question = pageOf(request % 2 === 0 ? home.sealed[0]! : home.open[0]!);
    const { status } = await answerOf(question, counted, () => {
      asked += 1;
    });
    expect(status).toBe(200);
  }
  const requestsOf = async () => {
    const answer = await ask(cluster.home.origin, counted, { path: '/v1/account/usage' });
    const { data } = (await answer.json()) as { data: { routes: { route: string; requests: number }[] } };
    return data.routes.reduce((sum, { route, requests }) => sum + (route.includes('usage') ? 0 : requests), 0);
  };
  await until('home has all of it', async () => (await requestsOf()) >= asked);
  expect(await requestsOf()).toBe(asked);
});

test('A node that was killed starts from what it has, and needs home and storage only for what it has not.', async () => {
  const [market] = home.sealed;
  expect((await answerOf(pageOf(market!))).status).toBe(200);
  await node().end();
  bucket.requests.length = 0;
  await node().start();
  await until('it knows the keys', async () => (await atNode(pageOf(market!))).status === 200);
  expect(bookRequests()).toBe(0);
  expect(keyId).toStartWith('key_');
});
