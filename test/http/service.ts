import { createKey } from '../../src/account/account-keys.ts';
import { createApp } from '../../src/http/app.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { Registry } from '../../src/store/registry.ts';
import type { Usage } from '../../src/store/usage.ts';
import { viewSite } from '../../src/web/view/view-site.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

/** The service on a free port, with controls for its clocks, its archive and its shutdown. */
export interface Service extends AsyncDisposable {
  readonly archive: Archive;
  readonly registry: Registry;
  readonly usage: Usage;
  readonly app: ReturnType<typeof createApp>;
  readonly origin: string;
  readonly key: string;
  /** The log so far. */
  readonly log: readonly string[];
  /** Advances the clocks by this time. */
  passTime(ms: number): void;
  /** Sets the wall clock only. */
  setWallClock(ms: number): void;
  drain(): void;
}

export function startService(): Service {
  const held = temporaryArchive();
  const { archive, registry, activity } = held;
  const log: string[] = [];
  let monotonicMs = 1000;
  let wallMs = NOW_MS;
  let draining = false;
  const app = createApp({
    archive,
    registry,
    usage: activity.usage,
    version: '0.0.0-test',
    clocks: () => ({ monotonicMs, wallMs }),
    isDraining: () => draining,
    logError: (line) => log.push(line),
    pages: () => viewSite({ access: 'key', tokens: undefined, isReplay: false }),
  });
  app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
  const request = { account: 'test@localhost', name: undefined, tier: 'free', requestsPerMinute: undefined };
  return {
    archive,
    registry,
    usage: activity.usage,
    app,
    origin: `http://127.0.0.1:${app.server!.port}`,
    key: createKey(registry, NOW_MS, request).key,
    log,
    passTime(ms) {
      monotonicMs += ms;
      wallMs += ms;
    },
    setWallClock(ms) {
      wallMs = ms;
    },
    drain() {
      draining = true;
    },
    async [Symbol.asyncDispose]() {
      await app.stop(true);
      held[Symbol.dispose]();
    },
  };
}
