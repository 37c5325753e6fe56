import { Elysia } from 'elysia';
import { createKey } from '../../src/account/account-keys.ts';
import { createApp } from '../../src/http/app.ts';
import { HomeLink, type HomeLinkOptions } from '../../src/http/node/home-link.ts';
import { type NodeRoutesDeps, nodeRoutes } from '../../src/http/node/node-routes.ts';
import { AccessLog } from '../../src/http/plugins/access-log.ts';
import { Admissions } from '../../src/http/plugins/admission.ts';
import type { ClientAddresses } from '../../src/http/plugins/client-address.ts';
import { Log } from '../../src/http/plugins/log.ts';
import { targetOf } from '../../src/http/request-target.ts';
import { openActivity } from '../../src/store/activity.ts';
import { openArchive } from '../../src/store/archive.ts';
import { KEY_SECRET_FILE, KeySecret, readSecret } from '../../src/store/key-secret.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryDirectory } from '../support/archive.ts';

export const SECRET = 'the-secret-of-all-nodes-of-this-test';

export type Home = ReturnType<typeof startHome>;
export type NodeSide = ReturnType<typeof startNode>;

interface HomeOptions extends Partial<Pick<NodeRoutesDeps, 'readerSeconds'>> {
  readonly port?: number;
  /** Default: true. */
  readonly hasNodes?: boolean;
  /** That of another process of the same server. */
  readonly serverSecret?: KeySecret;
}

/** Home on a free port, in this process. `stop` ends it as kill does: its connections are closed. */
export function startHome(
  path: string,
  { port = 0, hasNodes = true, serverSecret = KeySecret.random(), ...more }: HomeOptions = {},
) {
  const archive = openArchive(path, NOW_MS, { create: true });
  const registry = openRegistry(path, { create: false });
  const activity = openActivity(path);
  let wallMs = NOW_MS;
  const written: string[] = [];
  const log = new Log({
    sink: async (line) => void written.push(line),
    format: 'json',
    level: 'info',
    nowMs: () => NOW_MS,
  });
  const accessLog = new AccessLog(log);
  const admissions = new Admissions(serverSecret);
  const isDraining = () => false;
  const deps: NodeRoutesDeps = {
    ...{ secret: SECRET, admissions, registry, nodes: activity.nodes, isDraining, archiveId: archive.archiveId },
    ...{ version: '0.0.0-test', nowMs: () => wallMs, ...more },
    keySecret: () => Buffer.from(readSecret(`${path}/${KEY_SECRET_FILE}`)!).toString('hex'),
  };
  const app = createApp({
    ...{ archive, registry, usage: activity.usage, version: '0.0.0-test', isDraining, edge: { accessLog } },
    clocks: () => ({ monotonicMs: performance.now(), wallMs }),
    logError: log.error,
    nodes: hasNodes ? { admissions, routes: (host) => nodeRoutes(deps, host) } : undefined,
    pages: (addresses) => echo(addresses),
  });
  app.listen({ hostname: '127.0.0.1', port, reusePort: true });
  return {
    ...{ archive, registry, activity, admissions, app, path, serverSecret },
    port: app.server!.port!,
    origin: `http://127.0.0.1:${app.server!.port}`,
    key: (account = 'ann@example.com', more: { tier?: string; expiresMs?: number; requestsPerMinute?: number } = {}) =>
      createKey(registry, wallMs, { account, name: undefined, tier: undefined, requestsPerMinute: 100_000, ...more }),
    setClock: (ms: number) => {
      wallMs = ms;
    },
    log: async () => {
      accessLog.flush();
      await log.flush();
      return written.join('');
    },
    async [Symbol.asyncDispose]() {
      await app.stop(true);
      for (const { database } of [archive, registry, activity]) database.close();
    },
  };
}

/** A node's link to home. Its clocks are the ones of this test. */
export function startNode(home: string, options: Partial<HomeLinkOptions> = {}) {
  const directory = temporaryDirectory();
  const activity = openActivity(directory.path);
  let passedMs = 0;
  const lines: string[] = [];
  const log = { info: (line: string) => void lines.push(line), warn: (line: string) => void lines.push(line) };
  const link = new HomeLink({
    ...{ home, secret: SECRET, directory: directory.path, usage: activity.usage, graceMs: 30_000, log },
    // Wrong by more than an hour.
    clock: () => NOW_MS - 3_700_000,
    monotonicMs: () => performance.now() + passedMs,
    ...options,
  });
  link.start();
  const { database, keyDirectory } = link.registry;
  return {
    ...{ link, activity, lines },
    passTime: (ms: number) => {
      passedMs += ms;
    },
    /** The tier of a key, or the sentence that refuses it; undefined: it is not known. */
    tierOf: (key: string) => {
      try {
        return database.readShared(() => keyDirectory.find(key, link.nowMs()))?.tier.id;
      } catch (error) {
        return (error as Error).message;
      }
    },
    async [Symbol.asyncDispose]() {
      await link.close();
      activity.database.close();
      directory[Symbol.dispose]();
    },
  };
}

/** Waits until a value is the wanted one; ends with the last one after a minute. */
export async function becomes<T>(current: () => T, wanted: T): Promise<T> {
  const untilMs = performance.now() + 60_000;
  while (!Bun.deepEquals(current(), wanted) && performance.now() < untilMs) await Bun.sleep(5);
  return current();
}

/** Answers with what arrived: for requests that a node forwards as they are. */
function echo(addresses: ClientAddresses): Elysia {
  const app = new Elysia({ name: 'echo' });
  app
    .all(
      '/echo',
      async ({ request }) => {
        const headers = new Headers({ 'set-cookie': 'a=1; Path=/' });
        headers.append('set-cookie', 'b=2; Path=/');
        const { method } = request;
        const body = await request.text();
        return Response.json(
          {
            method,
            target: targetOf(request),
            body,
            headers: [...request.headers],
            address: addresses.of(request),
            isOfThisMachine: addresses.isOfThisMachine(request),
          },
          { status: 202, headers },
        );
      },
      { parse: 'none' },
    )
    .get('/elsewhere', () => new Response(null, { status: 303, headers: { location: '/echo' } }))
    .get('/packed', () => new Response(Bun.gzipSync('packed'), { headers: { 'content-encoding': 'gzip' } }))
    .get('/parts', () => new Response(parts()))
    .get('/endless', () => new Response(new ReadableStream({ start: (sent) => sent.enqueue(Buffer.from('begun')) })));
  return app;
}

function parts(): ReadableStream<Uint8Array> {
  const left = ['one ', 'two ', 'three'];
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(5);
      const part = left.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(Buffer.from(part));
    },
  });
}
