import { Elysia } from 'elysia';
import { tierResource } from '../../domain/tier.ts';
import { negotiate } from '../response/responder.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { type ControllerDeps, parametersOf } from './controller.ts';

/** The live tier catalog; any valid key may read it. */
export function tiersController({ gate, archive, responder }: ControllerDeps) {
  return new Elysia({ name: 'tiers' }).use(gate).get(routerPath('tiers'), ({ exchange }) => {
    // An instant makes no difference: tiers have no history.
    parametersOf(exchange, ROUTES.tiers, () => ({}));
    const data = archive.database.readShared(() => archive.tiers.list().map(tierResource));
    return responder.document({ data }, negotiate(exchange));
  });
}
