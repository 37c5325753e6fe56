import { Elysia } from 'elysia';
import { AccountResource, hasOneOwner } from '../../domain/account.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, type InstantMs, instantOrNull } from '../../domain/instant.ts';
import { tierResource } from '../../domain/tier.ts';
import { addedUsage, HOUR_MS, NO_USAGE, type UsageCounts, UsageResource } from '../../domain/usage.ts';
import type { Registry } from '../../store/registry.ts';
import type { Usage, UsageRow } from '../../store/usage.ts';
import { dataOf, described } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY, USAGE_QUERY, USAGE_ROUTE } from '../parameters/query.ts';
import type { AccessCheck } from '../plugins/access.ts';
import { negotiate } from '../response/responder.ts';
import type { ControllerDeps } from './controller.ts';

const DAY_MS = 24 * HOUR_MS;
/** `rangeMsMax`: a longer range would delay other requests. */
const INTERVALS = {
  hour: { lengthMs: HOUR_MS, defaultMs: DAY_MS, rangeMsMax: 31 * DAY_MS },
  day: { lengthMs: DAY_MS, defaultMs: 30 * DAY_MS, rangeMsMax: 92 * DAY_MS },
} as const;

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
      ({ exchange, accessCheck, query }) => {
        const { interval, keyId } = query;
        const toMs = Math.min(query.to ?? Infinity, nowMs());
        const { lengthMs, defaultMs, rangeMsMax } = INTERVALS[interval];
        const from = Math.max(Math.min(query.from ?? toMs - defaultMs, toMs), toMs - rangeMsMax, 0);
        const fromMs = from - (from % lengthMs);
        const keys = database.readShared(() => {
          const key = keyOf(accessCheck);
          return hasOneOwner(key.account) ? apiKeys.ofAccount(key.accountId).map(({ id }) => id) : [key.id];
        });
        if (keyId !== undefined && !keys.includes(keyId)) {
          throw new DomainError(
            'not-found',
            `this account has no such key: ${USAGE_ROUTE} lists its keys with requests`,
          );
        }
        const rows = usage.list(keyId === undefined ? keys : [keyId], fromMs, toMs, lengthMs);
        const data: UsageResource = {
          from: formatInstant(fromMs),
          to: formatInstant(toMs),
          interval,
          intervals: sums(rows, (row) => formatInstant(row.startMs)).map(([start, counts]) => ({ start, ...counts })),
          keys: sums(rows, (row) => row.keyId).map(([id, counts]) => ({ keyId: id, ...counts })),
          routes: sums(rows, (row) => row.route).map(([route, counts]) => ({ route, ...counts })),
        };
        return responder.document({ data }, negotiate(exchange));
      },
      {
        grant: 'any',
        query: parameters({ from: QUERY.from, to: QUERY.to, ...USAGE_QUERY }),
        detail: described('usage', {
          summary: 'Usage of the account',
          description:
            'Requests, refusals and bytes of the account’s keys by hour or day (UTC), by key and by route. This request is not counted yet. Usage is kept for 400 days. from is rounded down to the start of its interval; the default is 24 hours before to, or 30 days with interval=day. Without to: until now. An earlier from is moved to 31 days before to, or 92 days with interval=day. A key that was created without an account sees only its own usage. Any valid key may read it.',
          answer: UsageAnswer,
          examples: { hours: USAGE_ROUTE, days: `${USAGE_ROUTE}?interval=day` },
        }),
      },
    );
}

/** The sums of rows by name, in the order of the names. */
function sums(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): [string, UsageCounts][] {
  const byName = new Map<string, UsageCounts>();
  for (const row of rows) {
    const name = nameOf(row);
    byName.set(name, addedUsage(byName.get(name) ?? NO_USAGE, row));
  }
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1));
}
