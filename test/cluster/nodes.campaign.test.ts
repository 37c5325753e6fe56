import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { Bucket, bucketAccess } from '../../src/store/bucket.ts';
import { catalogObject } from '../../src/store/catalog.ts';
import { faketimeLibrary } from '../fault/machine.ts';
import { until } from '../fault/served.ts';
import { freePort } from '../judges/free-port.ts';
import { API } from '../public/proxied.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { type BucketFault, BucketServer } from '../support/bucket-server.ts';
import { sized } from '../support/campaign-size.ts';
import { type Ceph, HAS_CEPH, startCeph } from '../support/ceph.ts';
import { type AskedMarket, answered, ask, askPatiently, percentile, type Question, questionsAbout } from './answers.ts';
import { BOOKS, type Cluster, type Member, makeBucket, startCluster } from './cluster.ts';
import { commanded, type HomeData, homeData } from './clustered.ts';
import { lackingFor, startNodeProxy } from './node-proxy.ts';
import { figure } from './results.ts';

setDefaultTimeout(1_800_000);

const LACKS = [
  ...(HAS_CEPH ? [] : ['Ceph']),
  ...(Bun.which('redis-server') === null ? ['redis-server'] : []),
  ...(lackingFor('haproxy') === undefined ? [] : [lackingFor('haproxy')!]),
];
const QUESTIONS = Number(process.env.CLUSTER_QUESTIONS ?? sized(400, 1000));
const REVOCATIONS = Number(process.env.CLUSTER_REVOCATIONS ?? sized(5, 20));
const SEALED = 60;
const COLD = sized(40, 100);
const RPM = sized(90, 300);
const AT_ONCE = 32;
const HOUR_SECONDS = 3600;
const WINDOW_MS = 55_000;
const TRIES = 5;

interface Setting extends AsyncDisposable {
  readonly home: HomeData;
  readonly cluster: Cluster;
  /** Between all programs and Ceph: it counts requests, and fails on demand. */
  readonly storage: BucketServer;
  readonly key: string;
}

const pageOf = ({ symbol, conditionId }: AskedMarket): Question => ({
  path: `/v1/${symbol}/markets/${conditionId}/snapshots?limit=100`,
});
const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

describe.skipIf(LACKS.length > 0)(`three nodes${LACKS.length === 0 ? '' : ` (needs ${LACKS.join(' and ')})`}`, () => {
  let ceph: Ceph;
  let variables: Record<string, string>;
  beforeAll(async () => {
    ceph = await startCeph();
    variables = await makeBucket(ceph.origin);
  });
  afterAll(async () => await ceph[Symbol.asyncDispose]());

  let folders = 0;
  async function setting(
    options: {
      readonly sealed?: number;
      readonly redis?: 'patient';
      readonly envOf?: (name: string) => Record<string, string>;
    } = {},
  ) {
    await using stack = new AsyncDisposableStack();
    const directory = stack.use(temporaryDirectory());
    const storage = stack.use(await BucketServer.start());
    storage.upstream = ceph.origin;
    folders += 1;
    const books = `${BOOKS}-${folders}`;
    const home = await homeData(directory.path, options.sealed ?? SEALED);
    const { key } = await home.keyOf();
    const cluster = stack.use(
      await startCluster({
        directory: directory.path,
        data: home.data,
        books,
        nodes: 3,
        storage: { ...variables, AWS_ENDPOINT_URL: storage.origin },
        redis: options.redis ?? true,
        ...(options.envOf === undefined ? {} : { envOf: options.envOf }),
      }),
    );
    const owned = stack.move();
    const made: Setting = {
      home,
      cluster,
      storage,
      key,
      [Symbol.asyncDispose]: async () => await owned.disposeAsync(),
    };
    return { ...made, books, directory: directory.path };
  }

  test('Nodes answer as home does, also while one of them is killed; a proxy hides it.', async () => {
    await using all = await setting();
    const { home, cluster } = all;
    // A key has at most 16 exports at once.
    const keys: string[] = [];
    for (let index = 0; index < 4; index += 1) keys.push((await home.keyOf()).key);
    await until('all know the keys', async () => {
      const known = await Promise.all(
        keys.map(async (each) => await statuses(cluster.nodes, each, pageOf(home.sealed[0]!))),
      );
      return known.flat().every((status) => status === 200);
    });
    const nodes = cluster.nodes.map(({ address }) => address);
    await using proxy = await startNodeProxy('haproxy', {
      ...{ directory: all.directory, nodes, port: await freePort(), plain: true },
    });
    const questions = questionsAbout([...home.sealed, ...home.open], 7)
      .take(QUESTIONS)
      .toArray();
    const [killed, ...others] = cluster.nodes as [Member, Member, Member];
    const wrong: string[] = [];
    const failed = { direct: 0, proxied: 0, later: 0 };
    let [next, equal] = [0, 0];
    const compare = async (_: unknown, client: number) => {
      const key = keys[client % keys.length]!;
      for (let index = next++; index < questions.length; index = next++) {
        if (index === QUESTIONS / 2) await killed.end();
        const question = questions[index]!;
        const through = { ...question, headers: { ...question.headers, host: API } };
        const patiently = async (origin: string, asked: Question) =>
          await askPatiently(origin, key, asked, () => {
            failed.later += 1;
          })
            .then(answered)
            .catch((error: Error) => void wrong.push(`${asked.path} at ${origin}: ${error.message}`));
        const expected = await patiently(cluster.home.origin, question);
        const [direct, proxied] = await Promise.all([
          patiently(others[index % 2]!.origin, question),
          patiently(proxy.origin, through),
        ]);
        if (direct === undefined) failed.direct += 1;
        if (proxied === undefined) failed.proxied += 1;
        if (Bun.deepEquals(direct, expected)) equal += 1;
        else wrong.push(`${question.path}: ${JSON.stringify(direct)} is not ${JSON.stringify(expected)}`);
        if (proxied !== undefined && proxied.digest !== expected?.digest)
          wrong.push(`through the proxy: ${question.path}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, compare));
    figure(
      'answers of nodes',
      `${questions.length} random questions to home, to nodes, and through HAProxy; one node killed (SIGKILL) in the middle`,
      'byte-identical, with equal status, tag, cursor and headers; 0 errors on the others',
      `${equal} equal, ${wrong.length} different; errors: ${failed.direct} on the others, ${failed.proxied} through HAProxy; ${failed.later} answers 503, and right when asked again`,
    );
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(failed.direct).toBe(0);
  });

  test('Limits are exact over home and nodes, also if a node is killed in the middle.', async () => {
    await using all = await setting({ sealed: 6, redis: 'patient' });
    const { home, cluster } = all;
    const members = [cluster.home, ...cluster.nodes];
    const [first, second] = [pageOf(home.sealed[0]!), pageOf(home.open[0]!)];
    await warm(all, cluster.nodes, first);
    const spend = async () => {
      const key = await limitedKey(home, members, first);
      const [isCalm, survivorsAreCalm] = [await calmFrom(members), await calmFrom(members.slice(0, -1))];
      const remaining: number[] = [];
      const counts = { passed: 0, refused: 0, busy: 0, lost: 0 };
      let [next, wasCalm] = [0, false];
      const client = async () => {
        for (let index = next++; index < 2 * RPM; index = next++) {
          if (index === RPM / 2) {
            wasCalm = await isCalm();
            await cluster.nodes[2]!.end();
          }
          const { origin } = members[index % members.length]!;
          const answer = await ask(origin, key, index % 3 === 0 ? second : first).catch(() => undefined);
          await answer?.arrayBuffer();
          if (answer === undefined) counts.lost += 1;
          else if (answer.status === 429) counts.refused += 1;
          else {
            counts[answer.status === 200 ? 'passed' : 'busy'] += 1;
            remaining.push(Number(answer.headers.get('x-ratelimit-remaining')));
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, client));
      return { ...counts, remaining, isWhole: wasCalm && (await survivorsAreCalm()) };
    };
    // On a busy machine Redis may take more than 50 ms, or the requests more than a window: neither says anything of limits.
    let [spent, tries] = [await spend(), 1];
    for (; !spent.isWhole && tries < TRIES; tries += 1) {
      await cluster.nodes[2]!.start();
      spent = await spend();
    }
    const { passed, refused, busy, lost, remaining, isWhole } = spent;
    const isEach = new Set(remaining).size === remaining.length;
    figure(
      'limits',
      `a key of ${RPM} requests a minute, ${2 * RPM} at once to home and three nodes, every third one of an open market, one node killed`,
      'exact',
      isWhole
        ? `${passed + busy} counted and answered, ${refused} refused, ${lost} without an answer; each answer has a remaining number of its own: ${isEach}`
        : `not measured: the machine was too busy in ${tries} tries`,
    );
    if (!isWhole) return;
    expect(isEach).toBe(true);
    expect(passed + busy).toBeLessThanOrEqual(RPM);
    // The killed node had counted these, and did not answer them.
    expect(passed + busy + lost).toBeGreaterThanOrEqual(RPM);
  });

  describe('of one archive, of which each test has markets of its own', () => {
    let shared: Awaited<ReturnType<typeof setting>>;
    beforeAll(async () => {
      shared = await setting({ sealed: COLD + 36 });
    });
    afterAll(async () => await shared[Symbol.asyncDispose]());
    const part = (from: number, count: number) => {
      const sealed = shared.home.sealed.slice(from, from + count);
      return { ...shared, home: { ...shared.home, sealed } };
    };

    test('A revoked key is refused by all nodes.', async () => {
      const all = part(0, 1);
      const { home, cluster } = all;
      const question = pageOf(home.sealed[0]!);
      await warm(all, cluster.nodes, question);
      const keys: Awaited<ReturnType<HomeData['keyOf']>>[] = [];
      for (let index = 0; index < REVOCATIONS; index += 1) keys.push(await home.keyOf());
      const takenMs: number[] = [];
      for (const { id, key } of keys) {
        await until('all nodes know it', async () =>
          (await statuses(cluster.nodes, key, question)).every((status) => status === 200),
        );
        await home.run('key', 'revoke', id);
        const revokedMs = performance.now();
        await until('all nodes refuse it', async () =>
          (await statuses(cluster.nodes, key, question)).every((status) => status === 401),
        );
        takenMs.push(performance.now() - revokedMs);
      }
      takenMs.sort((a, b) => a - b);
      const within = takenMs.filter((each) => each <= 1000).length;
      figure(
        'revocation',
        `${REVOCATIONS} keys, one after another; from the end of \`key revoke\` until all three nodes refuse`,
        '200 of 200 within 1 s',
        `${within} of ${REVOCATIONS} within 1 s; ${ms(percentile(takenMs, 0.5))} at the median, at most ${ms(takenMs.at(-1)!)}`,
      );
    });

    test('A market that no node has is fetched once, and warm answers go on meanwhile.', async () => {
      const all = part(0, COLD + 10);
      const { home, cluster, storage, key } = all;
      const [node] = cluster.nodes;
      const [warmMarkets, cold] = [home.sealed.slice(0, 10), home.sealed.slice(10)];
      for (const market of warmMarkets) await warm(all, [node!], pageOf(market));
      let busy = 0;
      const time = async (question: Question) => {
        const beginMs = performance.now();
        for (;;) {
          const answer = await ask(node!.origin, key, question);
          await answer.arrayBuffer();
          if (answer.status === 200) return performance.now() - beginMs;
          expect(answer.status).toBe(503);
          busy += 1;
        }
      };
      const warmMs = async (isOver: () => boolean) => {
        const taken: number[] = [];
        for (let index = 0; !isOver() || taken.length < 500; index += 1)
          taken.push(await time(pageOf(warmMarkets[index % warmMarkets.length]!)));
        return taken.toSorted((a, b) => a - b);
      };
      const before = await warmMs(() => true);
      let isOver = false;
      const meanwhile = warmMs(() => isOver);
      const coldMs: number[] = [];
      for (const market of cold.slice(0, COLD - 1)) coldMs.push(await time(pageOf(market)));
      isOver = true;
      const during = await meanwhile;
      coldMs.sort((a, b) => a - b);
      storage.requests.length = 0;
      await Promise.all(Array.from({ length: 100 }, async () => await time(pageOf(cold.at(-1)!))));
      const gets = storage.requests.filter(({ name }) => name.includes('/books/')).length;
      figure(
        'cold requests',
        `${coldMs.length} markets that the node does not have, one after another, through a proxy in front of radosgw that counts`,
        'p50 at most 50 ms, p99 at most 200 ms',
        `p50 ${ms(percentile(coldMs, 0.5))}, p99 ${ms(percentile(coldMs, 0.99))}; asked again after a 503: ${busy}`,
      );
      figure(
        'warm requests meanwhile',
        'pages of 100 of markets that the node has, before and during the cold requests',
        'p99 at most 2 ×',
        `p99 ${ms(percentile(before, 0.99))} before, ${ms(percentile(during, 0.99))} meanwhile`,
      );
      figure('100 cold requests at once', 'of the same market', '1 GET', `${gets} GET`);
      expect(gets).toBe(1);
    });

    test('Without the bucket warm answers go on, cold ones are refused, and come back with it.', async () => {
      const all = part(COLD + 10, 12);
      const { home, cluster, storage, key } = all;
      const [node] = cluster.nodes;
      const [warmed, ...cold] = home.sealed;
      await warm(all, cluster.nodes, pageOf(warmed!));
      const seen: string[] = [];
      const failing = (fault: BucketFault | undefined) => () => {
        storage.fault = () => fault;
      };
      const outages = [
        ['does not answer', failing('hang'), failing(undefined)],
        ['closes connections', failing('drop'), failing(undefined)],
        ['is stopped (SIGSTOP)', () => ceph.gateway.kill('SIGSTOP'), () => ceph.gateway.kill('SIGCONT')],
      ] as const;
      for (const [index, [what, begin, end]] of outages.entries()) {
        begin();
        try {
          const takenMs: number[] = [];
          for (let request = 0; request < 5; request += 1) {
            const beginMs = performance.now();
            const answer = await ask(node!.origin, key, pageOf(cold[2 * index + (request % 2)]!));
            takenMs.push(performance.now() - beginMs);
            expect([what, answer.status]).toEqual([what, 503]);
            expect(await answer.text()).not.toMatch(/sqlite|s3:|\/tmp\//i);
            const other = await ask(node!.origin, key, pageOf(warmed!));
            expect([what, other.status]).toEqual([what, 200]);
            await other.arrayBuffer();
          }
          seen.push(
            `${what}: first 503 after ${ms(takenMs[0]!)}, later ones at most ${ms(Math.max(...takenMs.slice(1)))}`,
          );
        } finally {
          end();
        }
        await until(
          'it is served again',
          async () => (await ask(node!.origin, key, pageOf(cold[2 * index]!))).status === 200,
        );
      }
      figure(
        'the bucket is down',
        'a node with warm and cold markets; 5 cold requests in each case',
        'warm served, cold 503 within 300 ms (1 s for the first)',
        seen.join('; '),
      );
    });

    test('An object that was flipped or cut in the bucket is refused by every node.', async () => {
      const all = part(COLD + 22, 8);
      const { home, cluster, storage, key } = all;
      let refused = 0;
      for (const [index, fault] of (['flip', 'cut'] as const).entries()) {
        storage.fault = ({ method, name }) => (method === 'GET' && name.includes('/books/') ? fault : undefined);
        for (const node of cluster.nodes) {
          const answer = await ask(node.origin, key, pageOf(home.sealed[index]!));
          expect([fault, answer.status]).toEqual([fault, 503]);
          refused += 1;
        }
        storage.fault = () => undefined;
        for (const node of cluster.nodes) {
          await warm(all, [node], pageOf(home.sealed[index]!));
          const [ours, theirs] = [node, cluster.home].map(
            async ({ origin }) => await answered(await ask(origin, key, pageOf(home.sealed[index]!))),
          );
          expect(await ours).toEqual(await theirs);
        }
      }
      figure(
        'flipped and cut objects',
        'files on the way from the bucket, at three nodes',
        'refused, never served',
        `${refused} of 6 refused, then served right`,
      );
    });

    test('Late data, deletions and new markets reach the nodes.', async () => {
      const all = part(COLD + 30, 6);
      const { home, cluster, key } = all;
      const [gone, late] = home.sealed;
      for (const market of [gone!, late!]) await warm(all, cluster.nodes, pageOf(market));
      const measured = async (
        what: string,
        change: () => Promise<unknown>,
        question: Question,
        wanted: (status: number) => boolean,
      ) => {
        await change();
        const beginMs = performance.now();
        await until(what, async () => (await statuses(cluster.nodes, key, question)).every(wanted));
        return `${what}: ${ms(performance.now() - beginMs)}`;
      };
      const { path } = pageOf(gone!);
      const seen = [
        await measured(
          'deleted',
          () => home.run('delete', '--market', gone!.conditionId, '--yes'),
          { path },
          (s) => s === 404,
        ),
      ];
      const [fresh] = await home.grow(1);
      seen.push(
        await measured(
          'new and sealed',
          async () => undefined,
          pageOf(fresh!),
          (s) => s === 200,
        ),
      );
      figure('changes', 'from the end of the command at home until all three nodes have it', '2.5 s', seen.join('; '));
    });
  });

  test('A second writer is refused.', async () => {
    await using all = await setting({ sealed: 6 });
    const { home, cluster, key } = all;
    const copy = join(all.directory, 'copy');
    cpSync(home.data, copy, { recursive: true });
    const env = { ...variables, AWS_ENDPOINT_URL: all.storage.origin };
    const second = await commanded(['publish', '--books', all.books, '--data', copy], env);
    expect(second.code).not.toBe(0);
    figure(
      'a second writer',
      '`publish` of a copy of the data directory, while home publishes',
      'refused',
      `exit code ${second.code}: ${second.stderr.trim()}`,
    );
    expect((await ask(cluster.nodes[0]!.origin, key, pageOf(home.sealed[0]!))).status).toBe(200);
  });

  test('Redis killed, stopped and flushed: nobody gets in who may not, and a key gets at most one more window.', async () => {
    await using all = await setting({ sealed: 6 });
    const { home, cluster, key } = all;
    const redis = cluster.redis!;
    const question = pageOf(home.sealed[0]!);
    await warm(all, cluster.nodes, question);
    const revoked = await home.keyOf();
    await until('all know it', async () =>
      (await statuses(cluster.nodes, revoked.key, question)).every((s) => s === 200),
    );
    await home.run('key', 'revoke', revoked.id);
    await until('none accepts it', async () =>
      (await statuses(cluster.nodes, revoked.key, question)).every((s) => s === 401),
    );
    const seen: string[] = [];
    const disturbances = [
      ['flushed', async () => void redis.command('FLUSHALL'), async () => undefined],
      ['stopped (SIGSTOP)', async () => redis.child.kill('SIGSTOP'), async () => redis.child.kill('SIGCONT')],
      ['killed', async () => await redis.end(), async () => await redis.start()],
    ] as const;
    for (const [what, begin, end] of disturbances) {
      const limited = await limitedKey(home, cluster.nodes, pageOf(home.sealed[0]!));
      const spend = async (count: number) => {
        let passed = 0;
        for (let index = 0; index < count; index += 1) {
          const answer = await ask(cluster.nodes[index % 3]!.origin, limited, question);
          await answer.arrayBuffer();
          if (answer.status === 200) passed += 1;
          else expect([what, answer.status]).toEqual([what, 429]);
        }
        return passed;
      };
      const [isCalm, startedMs] = [await calmFrom(cluster.nodes), performance.now()];
      const before = await spend(RPM / 2);
      await begin();
      const beginMs = performance.now();
      expect(await statuses(cluster.nodes, revoked.key, question)).toEqual([401, 401, 401]);
      const firstMs = performance.now() - beginMs;
      const during = await spend(RPM * 4);
      await end();
      expect(await statuses(cluster.nodes, revoked.key, question)).toEqual([401, 401, 401]);
      const after = await spend(RPM);
      seen.push(`${what}: ${before} before, ${during} during, ${after} after, first answers within ${ms(firstMs)}`);
      expect((await ask(cluster.nodes[0]!.origin, key, question)).status).toBe(200);
      const passed = before + during + after;
      if (what === 'flushed' && (await isCalm())) expect(passed).toBeLessThanOrEqual(2 * RPM);
      // Windows of three processes while Redis is away, one before and one after.
      else if (performance.now() - startedMs < WINDOW_MS) expect(passed).toBeLessThanOrEqual(5 * RPM);
    }
    figure(
      'Redis',
      `flushed, stopped and killed while a key of ${RPM} requests a minute asks three nodes in turn, without a proxy that divides keys`,
      'no error; a revoked key stays refused; flushed: at most one more window; away: a window a node',
      seen.join('; '),
    );
  });

  test('Without home known keys go on for the grace period, and nobody else gets in.', async () => {
    // Two of them, whose nodes wait at the same time.
    await using stopped = await setting({ sealed: 6 });
    await using killed = await setting({ sealed: 6 });
    const without = async (all: Setting, begin: () => Promise<unknown>, end: () => Promise<unknown>) => {
      const { home, cluster, key } = all;
      const question = pageOf(home.sealed[0]!);
      await warm(all, cluster.nodes, question);
      await begin();
      const goneMs = performance.now();
      expect(await statuses(cluster.nodes, key, question)).toEqual([200, 200, 200]);
      let lastMs = 0;
      await until(
        'all nodes refuse it',
        async () => {
          const found = await statuses(cluster.nodes, key, question);
          for (const status of found) expect([200, 503]).toContain(status);
          if (found.includes(200)) lastMs = performance.now() - goneMs;
          return found.every((status) => status === 503);
        },
        120_000,
      );
      const unknown = await statuses(cluster.nodes, key.replace(/.{8}$/, 'aaaaaaaa'), question);
      await end();
      const backMs = performance.now();
      await until('they accept it again', async () =>
        (await statuses(cluster.nodes, key, question)).every((s) => s === 200),
      );
      expect(new Set(unknown)).toEqual(new Set([503]));
      return `known keys for ${(lastMs / 1000).toFixed(1)} s, then 503; unknown key ${[...new Set(unknown)].join()}; back ${ms(performance.now() - backMs)} after it`;
    };
    const { home } = killed.cluster;
    const [first, second] = await Promise.all([
      without(
        stopped,
        async () => stopped.cluster.home.child.kill('SIGSTOP'),
        async () => stopped.cluster.home.child.kill('SIGCONT'),
      ),
      without(
        killed,
        async () => await home.end(),
        async () => await home.start(),
      ),
    ]);
    figure(
      'home is down',
      'stopped and killed',
      'known keys for 30 s, then 503; an unknown key 503',
      `stopped (SIGSTOP): ${first}; killed: ${second}`,
    );
  });

  test('A catalog object that was lost keeps a node at its state, until there is a later checkpoint.', async () => {
    await using all = await setting({ sealed: 6 });
    const { home, cluster, key, storage } = all;
    const [first, second, last] = cluster.nodes as [Member, Member, Member];
    await warm(all, cluster.nodes, pageOf(home.sealed[0]!));
    const numberOf = async (node: Member) => (await node.scrape()).sum('bookreel_node_catalog_number');
    const number = await numberOf(last);
    await last.end();
    const fresh: AskedMarket[] = [];
    while ((await numberOf(first)) < number + 2) fresh.push(...(await home.grow(1)));
    await until('both have the objects', async () => (await numberOf(second)) >= number + 2);
    const env = { ...variables, AWS_ENDPOINT_URL: storage.origin };
    const { books } = all;
    const bucket = new Bucket(bucketAccess(books, env), Date.now);
    await bucket.delete(catalogObject(number + 1));
    await last.start();
    await until('it says so', () => last.child.stderr().includes('is missing in'));
    expect(await statuses([last], key, pageOf(home.sealed[0]!))).toEqual([200]);
    expect(await statuses(cluster.nodes.slice(0, 2), key, pageOf(fresh[0]!))).toEqual([200, 200]);
    const without = await numberOf(last);
    expect(await cluster.home.end('SIGTERM')).toBe(0);
    // The publisher of home ends after it.
    await until(
      'a checkpoint is written',
      async () => (await commanded(['publish', '--checkpoint', '--books', books, '--data', home.data], env)).code === 0,
      300_000,
    );
    await cluster.home.start();
    await until('it has the new market', async () => (await statuses([last], key, pageOf(fresh[0]!)))[0] === 200);
    figure(
      'a lost catalog object',
      'the object after the state of a node that does not run is deleted; then it starts',
      'nobody else notices; it goes on with a checkpoint',
      `the node stays at ${without} of ${await numberOf(first)} and answers, the others go on; after \`publish --checkpoint\` it is at ${await numberOf(last)}`,
    );
  });

  const library = faketimeLibrary();
  test.skipIf(library === undefined)('Clocks an hour apart change nothing.', async () => {
    const offsets: Record<string, number> = { node1: -1, node2: 1 };
    const envOf = (name: string) => ({
      LD_PRELOAD: library!,
      FAKETIME: `${(offsets[name] ?? 0) < 0 ? '' : '+'}${(offsets[name] ?? 0) * HOUR_SECONDS}s`,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    });
    await using all = await setting({ sealed: 12, redis: 'patient', envOf });
    const { home, cluster, key } = all;
    let equal = 0;
    for (const question of questionsAbout([...home.sealed, ...home.open], 11).take(sized(100, 300))) {
      const [expected, ...found] = await Promise.all(
        [cluster.home, ...cluster.nodes].map(
          async ({ origin }) => await answered(await askPatiently(origin, key, question)),
        ),
      );
      for (const each of found) expect({ path: question.path, ...each }).toEqual({ path: question.path, ...expected! });
      equal += found.length;
    }
    const limited = await limitedKey(home, cluster.nodes, pageOf(home.sealed[0]!));
    const isCalm = await calmFrom(cluster.nodes);
    let passed = 0;
    for (let index = 0; index < RPM * 2; index += 1) {
      const answer = await ask(cluster.nodes[index % 3]!.origin, limited, pageOf(home.sealed[0]!));
      if (answer.status === 200) passed += 1;
      await answer.arrayBuffer();
    }
    const isExact = await isCalm();
    figure(
      'clocks',
      'node 1 an hour behind home, node 2 an hour ahead (faketime)',
      'nothing changes',
      `${equal} answers equal; ${isExact ? `${passed} requests of a key of ${RPM} answered` : 'limits not measured: the machine was too busy'}`,
    );
    if (isExact) expect(passed).toBe(RPM);
  });

  /**
   * Returns a function that says if members have counted together since now, in less than a window: on a busy machine Redis may take more than the
   * 50 ms that they wait for it.
   */
  async function calmFrom(members: readonly Member[]): Promise<() => Promise<boolean>> {
    const alone = async () => {
      const scraped = await Promise.all(members.map(async (member) => await member.scrape()));
      return scraped.reduce((sum, each) => sum + each.sum('bookreel_rate_windows_alone_total'), 0);
    };
    const [before, beginMs] = [await alone(), performance.now()];
    return async () => performance.now() - beginMs < WINDOW_MS && (await alone()) === before;
  }

  /** A key that all members know, with nothing counted: they know another one that was created after it. */
  async function limitedKey(home: HomeData, members: readonly Member[], question: Question) {
    const created = await home.keyOf(RPM);
    const { key: later } = await home.keyOf();
    await until('all know the later key', async () =>
      (await statuses(members, later, question)).every((status) => status === 200),
    );
    return created.key;
  }

  /** Asks nodes until each has the file, and knows the key. */
  async function warm({ key }: Setting, nodes: readonly Member[], question: Question): Promise<void> {
    await until('nodes are warm', async () => (await statuses(nodes, key, question)).every((status) => status === 200));
  }
});

async function statuses(nodes: readonly Member[], key: string, question: Question): Promise<number[]> {
  return await Promise.all(
    nodes.map(async ({ origin }) => {
      const answer = await ask(origin, key, question);
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
}
