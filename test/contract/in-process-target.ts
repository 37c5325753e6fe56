import { Elysia } from 'elysia';
import { createKey } from '../../src/account/account-keys.ts';
import { createApp } from '../../src/http/app.ts';
import type { Archive } from '../../src/store/archive.ts';
import { pricingSite } from '../../src/web/pricing.tsx';
import { viewSite } from '../../src/web/view/view-site.ts';
import { importRecords, NOW_MS, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import type { Target } from './target.ts';

/** The service in this process, on a free port, over an archive of its own. */
export async function openInProcess(records: readonly object[]): Promise<Target> {
  const held = temporaryArchive();
  await importCleanly(held.archive, records);
  return serveInProcess(held);
}

/** The service in this process, on a free port, over an archive, which it disposes of. */
export function serveInProcess(held: TemporaryArchive): Target {
  const { archive, registry, activity } = held;
  const app = createApp({
    archive,
    registry,
    usage: activity.usage,
    version: '0.0.0-test',
    clocks: () => ({ monotonicMs: performance.now(), wallMs: Date.now() }),
    isDraining: () => false,
    logError: (line) => {
      throw new Error(`the service logged a fault: ${line}`);
    },
    pages: () => {
      const pages = new Elysia();
      pages.use(viewSite({ access: 'key', tokens: undefined, isReplay: false }));
      pages.use(pricingSite({ registry, billing: undefined, service: undefined, nowMs: Date.now }));
      return pages;
    },
  }).listen({ hostname: '127.0.0.1', port: 0, reusePort: false, maxRequestBodySize: 64 * 1024 });
  return {
    origin: `http://127.0.0.1:${app.server!.port}`,
    async makeKey(tier, { rpm } = {}) {
      const request = { account: 'test@localhost', name: undefined, tier, requestsPerMinute: rpm };
      const { apiKey, key } = createKey(registry, NOW_MS, request);
      return { id: apiKey.id, key };
    },
    async rotateKey(id) {
      return registry.database.write(() => registry.apiKeys.rotate(id, NOW_MS)).key;
    },
    async revokeKey(id) {
      registry.database.write(() => registry.apiKeys.revoke(id, NOW_MS));
    },
    async setTier(id, { rpm, coins, routes }) {
      registry.database.write(() => {
        const tier = registry.tiers.find(id)!;
        registry.tiers.update({
          ...tier,
          requestsPerMinute: rpm ?? tier.requestsPerMinute,
          coins: coins === undefined ? tier.coins : (coins ?? undefined),
          routes: routes === undefined ? tier.routes : (routes ?? undefined),
        });
      });
    },
    importRecords: (late) => importCleanly(archive, late),
    async [Symbol.asyncDispose]() {
      await app.stop(true);
      held[Symbol.dispose]();
    },
  };
}

async function importCleanly(archive: Archive, records: readonly object[]): Promise<void> {
  const report = await importRecords(archive, records);
  if (report.total.stored !== records.length) throw new Error(`not all was stored: ${JSON.stringify(report)}`);
}
