import { createKey } from '../../src/account/account-keys.ts';
import { createApp, type Edge } from '../../src/http/app.ts';
import { AccessLog, type LogFormat } from '../../src/http/plugins/access-log.ts';
import type { Archive } from '../../src/store/archive.ts';
import type { Registry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

/** The service on a free port with the options of its edge. */
export interface EdgeService extends AsyncDisposable {
  readonly archive: Archive;
  readonly registry: Registry;
  readonly origin: string;
  readonly key: string;
  readonly keyId: string;
  get(path: string, init?: RequestInit): Promise<Response>;
}

const CLOCKS = () => ({ monotonicMs: performance.now(), wallMs: NOW_MS });

export function startEdge(edge: Edge, requestsPerMinute = 100_000): EdgeService {
  const held = temporaryArchive();
  const { archive, registry } = held;
  const app = createApp({
    archive,
    registry,
    version: '0.0.0-test',
    clocks: CLOCKS,
    isDraining: () => false,
    logError: () => undefined,
    edge,
  });
  app.listen({ hostname: '127.0.0.1', port: 0, reusePort: false });
  const request = { account: 'test@localhost', name: undefined, tier: 'pro', requestsPerMinute };
  const { key } = createKey(registry, NOW_MS, request);
  const origin = `http://127.0.0.1:${app.server!.port}`;
  return {
    archive,
    registry,
    origin,
    key,
    keyId: registry.apiKeys.list()[0]!.id,
    get: (path, init) => fetch(`${origin}${path}`, { redirect: 'manual', ...init }),
    async [Symbol.asyncDispose]() {
      await app.stop(true);
      held[Symbol.dispose]();
    },
  };
}

/** A log that collects its lines. */
export function keptLog(form: LogFormat = 'json') {
  const written: string[] = [];
  const log = new AccessLog(async (text) => void written.push(text), form, CLOCKS);
  return {
    log,
    text: async () => {
      await log.flush();
      return written.join('');
    },
    lines: async () => {
      await log.flush();
      const lines = written.join('').split('\n');
      return lines.slice(0, -1).map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}
