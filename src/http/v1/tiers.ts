import { Elysia } from 'elysia';
import { Type } from 'typebox';
import { TierResource, tierResource } from '../../domain/tier.ts';
import { DOCUMENT_HEADERS, dataOf, described, packable } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { negotiate } from '../response/responder.ts';
import type { ControllerDeps } from './controller.ts';

const TierList = dataOf('TierList', 'The live tier catalog.', Type.Array(TierResource, { description: 'The tiers.' }));

/** The live tier catalog; any valid key may read it. */
export function tiersController({ access, archive, responder }: ControllerDeps) {
  return new Elysia({ name: 'tiers' }).use(access).get(
    '/v1/billing/tiers',
    ({ exchange }) => {
      // An instant makes no difference: tiers have no history.
      const data = archive.database.readShared(() => archive.tiers.list().map(tierResource));
      return responder.document({ data }, negotiate(exchange));
    },
    {
      grant: 'any',
      query: parameters({}),
      detail: described('tiers', {
        summary: 'Tier catalog',
        description:
          'The live catalog: what each tier grants and how many requests a minute it allows. Any valid key may read it.',
        tag: 'account',
        content: packable(TierList),
        headers: DOCUMENT_HEADERS,
        examples: { catalog: '/v1/billing/tiers' },
      }),
    },
  );
}
