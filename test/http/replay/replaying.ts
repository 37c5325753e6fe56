import { createKey } from '../../../src/account/account-keys.ts';
import { type AppDeps, createApp } from '../../../src/http/app.ts';
import type { Edge } from '../../../src/http/plugins/arrivals.ts';
import { Sockets } from '../../../src/http/replay/socket.ts';
import type { ReplayOptions } from '../../../src/replay/replay.ts';
import { Replays } from '../../../src/replay/replays.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { PaperDesks } from '../../../src/trading/paper-desks.ts';
import { NOW_MS, temporaryArchive } from '../../support/archive.ts';

/** A process that replays, on a free port. Its time passes only when a test moves it. */
export type Replaying = Awaited<ReturnType<typeof startReplaying>>;

export const EVERYTHING: ReplayOptions = {
  selection: { names: [], coins: [], timeframes: [] },
  fromMs: undefined,
  toMs: undefined,
  speed: 1,
  gaps: 'ignore',
  mirror: 'fresh',
  arrival: false,
  strict: false,
  loop: false,
  rebase: false,
};

export interface ReplayingOptions {
  readonly needsKeys?: boolean;
  readonly edge?: Edge;
  readonly socketsMax?: number;
  readonly pages?: AppDeps['pages'];
}

/** Starts it over an archive that `fill` fills. It has no replay until a test creates one. */
export async function startReplaying(
  fill: (archive: Archive) => Promise<unknown>,
  { needsKeys = false, edge = {}, socketsMax = 16, pages }: ReplayingOptions = {},
) {
  const held = temporaryArchive();
  const { archive, registry } = held;
  await fill(archive);
  const log: string[] = [];
  let passedMs = 0;
  const monotonicMs = () => 1000 + passedMs;
  const wallMs = () => NOW_MS + passedMs;
  const replays = new Replays(archive, { monotonicMs, wallMs });
  const sockets = new Sockets(socketsMax, (line) => log.push(line));
  const desks = new PaperDesks(replays, { monotonicMs, failed: sockets.failed });
  const app = createApp({
    archive,
    registry,
    version: '0.0.0-test',
    clocks: () => ({ monotonicMs: monotonicMs(), wallMs: wallMs() }),
    isDraining: () => false,
    logError: (line) => log.push(line),
    edge,
    ...(pages && { pages }),
    replay: { replays, desks, sockets, needsKeys },
  });
  app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
  const origin = `http://127.0.0.1:${app.server!.port}`;
  const ask = async (method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
    await fetch(`${origin}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    archive,
    registry,
    replays,
    desks,
    sockets,
    origin,
    log,
    ask,
    get: async (path: string, key?: string) =>
      await ask('GET', path, undefined, key === undefined ? {} : { authorization: `Bearer ${key}` }),
    passTime: (ms: number) => {
      passedMs += ms;
    },
    /** A new key of a tier. */
    keyOf: (tier: string, asOfMs?: number) =>
      createKey(registry, NOW_MS, {
        ...{ account: 'test@localhost', name: undefined, requestsPerMinute: undefined },
        ...{ tier, asOfMs },
      }).key,
    async [Symbol.asyncDispose]() {
      for (const { id } of replays.list()) replays.stop(id);
      await app.stop(true);
      held[Symbol.dispose]();
    },
  };
}
