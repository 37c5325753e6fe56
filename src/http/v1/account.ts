import { Elysia } from 'elysia';
import { Type } from 'typebox';
import { usageOf } from '../../account/account-usage.ts';
import type { NamedUsage } from '../../account/usage-series.ts';
import { AccountResource, hasOneOwner } from '../../domain/account.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, type InstantMs, instantOrNull } from '../../domain/instant.ts';
import { TierResource, tierResource } from '../../domain/tier.ts';
import { USAGE_KEYS_MAX, UsageResource } from '../../domain/usage.ts';
import type { Registry } from '../../store/registry.ts';
import type { Usage } from '../../store/usage.ts';
import { dataOf, described } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY, USAGE_QUERY, USAGE_ROUTE } from '../parameters/query.ts';
import type { AccessCheck } from '../plugins/access.ts';
import { negotiate } from '../response/responder.ts';
import type { ControllerDeps } from './controller.ts';

const AccountAnswer = dataOf('AccountAnswer', 'The account of the key.', AccountResource);
const UsageAnswer = dataOf('UsageAnswer', 'The usage of an account.', UsageResource);

/** The account of the request's key, and its usage. */
export function accountController(
  { access, responder }: ControllerDeps,
  registry: Registry,
  usage: Usage,
  nowMs: () => InstantMs,
) {
  const { accounts, accountTiers, apiKeys, database } = registry;
  /** The key was valid when the request began. */
  const keyOf = ({ keyId }: AccessCheck) => apiKeys.find(keyId!)!;
  return new Elysia({ name: 'account' })
    .use(access)
    .get(
      '/v1/account',
      ({ exchange, accessCheck }) => {
        const data = database.readShared(() => {
          const key = keyOf(accessCheck);
          const { email, name = null } = accounts.find(key.accountId)!;
          const { tier, endsMs } = accountTiers.at(key.accountId, nowMs());
          return {
            email,
            name,
            tier: tierResource(tier),
            tierEndsAt: endsMs === Infinity ? null : formatInstant(endsMs),
            key: {
              id: key.id,
              prefix: key.prefix,
              name: key.name ?? null,
              tier: key.tier ?? tier.id,
              pinned: key.tier !== undefined,
              requestsPerMinute: key.requestsPerMinute ?? null,
              asOf: instantOrNull(key.asOfMs),
              createdAt: formatInstant(key.createdMs),
              expiresAt: instantOrNull(key.expiresMs),
              rotatedAt: instantOrNull(key.rotatedMs),
            },
          } satisfies AccountResource;
        });
        return responder.document({ data }, negotiate(exchange));
      },
      {
        grant: 'any',
        query: parameters({}),
        detail: described('account', {
          summary: 'Account of the key',
          description:
            'The account that owns the key of the request, its tier with the end of its grant, and the key. Any valid key may read it.',
          answer: AccountAnswer,
          examples: { account: '/v1/account' },
        }),
      },
    )
    .get(
      USAGE_ROUTE,
      async ({ exchange, accessCheck, query }) => {
        const { interval, keyId, from: fromMs, to: toMs } = query;
        const keys = database.readShared(() => {
          const key = keyOf(accessCheck);
          return hasOneOwner(key.account) ? apiKeys.idsOf(key.accountId) : [key.id];
        });
        if (keyId !== undefined && !keys.includes(keyId)) {
          throw new DomainError(
            'not-found',
            `this account has no such key: ${USAGE_ROUTE} lists its keys with requests`,
          );
        }
        const used = await usageOf(usage, keyId === undefined ? keys : [keyId], { interval, fromMs, toMs }, nowMs());
        const data = {
          from: formatInstant(used.fromMs),
          to: formatInstant(used.toMs),
          interval,
          intervals: used.total.intervals.map(([startMs, counts]) => ({ start: formatInstant(startMs), ...counts })),
          keys: byName(used.keys.slice(0, USAGE_KEYS_MAX)).map(({ name, series }) => ({ keyId: name, ...series.sum })),
          routes: byName(used.routes).map(({ name, series }) => ({ route: name, ...series.sum })),
        } satisfies UsageResource;
        return responder.document({ data }, negotiate(exchange));
      },
      {
        grant: 'any',
        query: parameters({ from: QUERY.from, to: QUERY.to, ...USAGE_QUERY }),
        detail: described('usage', {
          summary: 'Usage of the account',
          description:
            'Requests, refusals and bytes of the account’s keys by hour or day (UTC), by key and by route. This request is not counted yet. Usage is kept for 400 days. from is rounded down to the start of its interval; the default is 24 hours before to, or 30 days with interval=day. Without to, the range ends now. An earlier from is moved to 31 days before to, or 400 days with interval=day. A key that was created without an account sees only its own usage. Any valid key may read it.',
          answer: UsageAnswer,
          examples: { hours: USAGE_ROUTE, days: `${USAGE_ROUTE}?interval=day` },
        }),
      },
    );
}

function byName(list: readonly NamedUsage[]): NamedUsage[] {
  return list.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

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
