import { createKey } from '../../src/account/account-keys.ts';
import { createApp } from '../../src/http/app.ts';
import type { Metrics } from '../../src/http/metrics/metrics.ts';
import { AccessLog } from '../../src/http/plugins/access-log.ts';
import type { Edge } from '../../src/http/plugins/arrivals.ts';
import { Log, type LogFormat } from '../../src/http/plugins/log.ts';
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

export function startEdge(edge: Edge, requestsPerMinute = 100_000, metrics?: Metrics): EdgeService {
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
    metrics,
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
export function keptLog(format: LogFormat = 'json') {
  const written: string[] = [];
  const log = new Log({ sink: async (text) => void written.push(text), format, level: 'info', nowMs: () => NOW_MS });
  const accessLog = new AccessLog(log);
  const text = async () => {
    accessLog.flush();
    await log.flush();
    return written.join('');
  };
  return {
    log,
    accessLog,
    text,
    lines: async () => {
      const lines = (await text()).split('\n');
      return lines.slice(0, -1).map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}
