import { Elysia } from 'elysia';
import { Type } from 'typebox';
import { TierResource, tierResource } from '../../domain/tier.ts';
import type { Registry } from '../../store/registry.ts';
import { dataOf, described } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { negotiate } from '../response/responder.ts';
import type { ControllerDeps } from './controller.ts';

const TierList = dataOf('TierList', 'The live tier catalog.', Type.Array(TierResource, { description: 'The tiers.' }));

export function tiersController({ access, responder }: ControllerDeps, { database, tiers }: Registry) {
  return new Elysia({ name: 'tiers' }).use(access).get(
    '/v1/billing/tiers',
    ({ exchange }) => {
      // Without asOf: tiers have no history.
      const data = database.readShared(() => tiers.list().map(tierResource));
      return responder.document({ data }, negotiate(exchange));
    },
    {
      grant: 'any',
      query: parameters({}),
      detail: described('tiers', {
        summary: 'Tier catalog',
        description:
          'The live catalog: the grants of each tier, and its allowed requests per minute. Any valid key may read it.',
        answer: TierList,
        examples: { catalog: '/v1/billing/tiers' },
      }),
    },
  );
}
