import { Elysia } from 'elysia';
import type { Billing } from '../../billing/billing.ts';
import type { ClockReading } from '../../domain/rate-window.ts';
import type { Registry } from '../../store/registry.ts';
import type { Usage } from '../../store/usage.ts';
import { unroutedResponse } from '../plugins/errors.ts';
import type { MountedPaths } from '../plugins/mounted-paths.ts';
import { accountController, tiersController } from './account.ts';
import { billingController } from './billing.ts';
import { coinsController } from './coins.ts';
import type { ControllerDeps } from './controller.ts';
import { coverageController } from './coverage.ts';
import { daysController } from './days.ts';
import { exportController } from './export.ts';
import { heatmapController } from './heatmap.ts';
import { marketsController } from './markets.ts';
import { midpointsController } from './midpoints.ts';
import { pricesController, quotesController } from './prices.ts';
import { snapshotsController } from './snapshots.ts';
import { streamController } from './stream.ts';

/** Dependencies of single controllers. */
interface V1Deps {
  readonly registry: Registry;
  /** Undefined: no route is about the account or its payments. */
  readonly usage: Usage | undefined;
  readonly billing: Billing | undefined;
  readonly clocks: () => ClockReading;
  readonly isDraining: () => boolean;
  /** `what`: the kind of answer that a fault of ours cut off. */
  readonly logCut: (what: string) => (error: unknown, request: Request) => void;
  readonly paths: MountedPaths;
}

/** Everything under /v1. */
export function v1Routes(
  deps: ControllerDeps,
  { registry, usage, billing, clocks, isDraining, logCut, paths }: V1Deps,
) {
  const wallMs = () => clocks().wallMs;
  return new Elysia({ name: 'v1' })
    .use(tiersController(deps, registry))
    .use(usage === undefined ? new Elysia() : accountController(deps, registry, usage, wallMs))
    .use(usage === undefined ? new Elysia() : billingController(deps, registry, billing))
    .use(coinsController(deps))
    .use(daysController(deps))
    .use(marketsController(deps))
    .use(snapshotsController(deps))
    .use(streamController({ ...deps, clocks, isDraining }, logCut('stream')))
    .use(coverageController(deps, wallMs))
    .use(heatmapController(deps))
    .use(pricesController(deps))
    .use(midpointsController(deps))
    .use(quotesController(deps))
    .use(exportController(deps, logCut('export')))
    .use(
      // All other paths under /v1 need a key too.
      new Elysia({ name: 'unrouted', detail: { hide: true } })
        .use(deps.access)
        .all('/v1', ({ request, set }) => unroutedResponse(request, set, paths))
        .all('/v1/*', ({ request, set }) => unroutedResponse(request, set, paths)),
    );
}
