import { dirname } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { createApp } from '../../src/http/app.ts';
import type { Metrics } from '../../src/http/metrics/metrics.ts';
import type { Archive } from '../../src/store/archive.ts';
import { openRegistry, type Registry } from '../../src/store/registry.ts';
import { NOW_MS } from './archive.ts';

/** The service of an archive, in this process, with a key that has access to everything and a high limit. */
export interface Service {
  readonly app: ReturnType<typeof createApp>;
  readonly key: string;
  /** The answer to a GET of a path below `/v1`. */
  get(path: string): Promise<Response>;
}

export function serviceOf(archive: Archive, registry: Registry = registryOf(archive), metrics?: Metrics): Service {
  const app = createApp({
    archive,
    registry,
    version: '0.0.0',
    metrics,
    clocks: () => ({ monotonicMs: performance.now(), wallMs: NOW_MS }),
    isDraining: () => false,
    logError: (line) => {
      throw new Error(line);
    },
  });
  const request = { account: 'test@localhost', name: undefined, tier: 'enterprise', requestsPerMinute: 1_000_000_000 };
  const { key } = createKey(registry, NOW_MS, request);
  const headers = { authorization: `Bearer ${key}` };
  return { app, key, get: async (path) => await app.handle(new Request(`http://localhost/v1${path}`, { headers })) };
}

/** The tiers and keys in the data directory of an archive. The connection is closed when it is collected. */
function registryOf(archive: Archive): Registry {
  return openRegistry(dirname(archive.database.path), { create: false });
}
