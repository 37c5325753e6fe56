import { Elysia } from 'elysia';
import { tierResource } from '../domain/tier.ts';
import { type ControllerDeps, parametersOf } from './controller.ts';
import { negotiate } from './respond.ts';
import { ROUTES, routerPath } from './routes.ts';

/** The live tier catalog; any valid key may read it. */
export function tiersController({ archive, responder }: ControllerDeps) {
  return new Elysia({ name: 'tiers' }).get(routerPath('tiers'), ({ request, set }) => {
    parametersOf({ request, set }, ROUTES.tiers, () => undefined);
    const data = archive.database.readInTurn(() => archive.tiers.list().map(tierResource));
    return responder.document({ data }, negotiate({ request, set }));
  });
}
