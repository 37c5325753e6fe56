import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { changeKey, createKey, revokeKey } from '../../src/account/account-keys.ts';
import { createAccount, disableAccount, grantTier, setRole } from '../../src/account/administration.ts';
import { createTier } from '../../src/account/tier-catalog.ts';
import { DAY_MS, HOUR_MS } from '../../src/domain/usage.ts';
import { openActivity } from '../../src/store/activity.ts';
import type { Database } from '../../src/store/database.ts';
import { writeRecorderStatus } from '../../src/store/recorder-file.ts';
import { openRegistry, type Registry } from '../../src/store/registry.ts';
import { HAS_ANVIL, startAnvil } from '../billing/anvil.ts';
import { PRO_USD, setPrice, writePaymentSettings } from '../billing/paid-service.ts';
import { buy } from '../billing/payer.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';
import { EXECUTABLE, printed, startServer } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { troubledStatus } from '../support/recorder-status.ts';
import { type SeededRequests, storeUsage } from '../web/seeded-usage.ts';

/** An admin with keys and a year of usage. */
export const ADMIN = 'ada@example.com';
/** A user without a key. */
export const NEWCOMER = 'grace@example.com';
/** A user with a grant and a key. */
export const CUSTOMER = 'a-rather-long-name-of-a-research-department@quantitative-strategies.example';

/** The tier, the end of its grant in days, and the keys, each with its age in days and its requests in a busy hour. */
const PEOPLE = [
  {
    email: ADMIN,
    name: 'Ada Lovelace',
    tier: 'pro',
    days: 23,
    keys: { backtests: [364, 420], notebook: [151, 60], ci: [40, 25] },
  },
  {
    email: 'desk@example.org',
    name: 'Trading desk',
    tier: 'enterprise',
    keys: { production: [364, 900], staging: [90, 30] },
  },
  { email: CUSTOMER, name: 'Research', tier: 'starter', days: 9, keys: { laptop: [60, 90] } },
  { email: 'lin@example.net', keys: { first: [12, 8] } },
  { email: 'former@example.net', name: 'Former customer', keys: { bot: [300, 50] } },
  { email: NEWCOMER, keys: {} },
] as const satisfies readonly Person[];

interface Person {
  readonly email: string;
  readonly name?: string;
  readonly tier?: string;
  readonly days?: number;
  readonly keys: Readonly<Record<string, readonly [ageDays: number, requests: number]>>;
}

/** Of an answer, in bytes; and the part of the requests. */
const ROUTES = [
  ['/v1/{coin}/markets', 9_000, 0.2],
  ['/v1/{coin}/markets/{conditionId}/snapshots', 180_000, 0.55],
  ['/v1/{coin}/markets/{conditionId}/snapshots/at/{ts}', 1_900, 0.2],
  ['/v1/coins', 400, 0.05],
] as const;

const SELLER = {
  name: 'Example Ltd',
  address: ['1 Main Street', '8000 Zurich'],
  taxId: 'CHE-123.456.789 VAT',
  tax: { label: 'VAT', percent: 8.1 },
};

/** A running service with people, keys, usage and (if there is anvil) a payment of the admin, and a replay of the same archive. */
export interface DemoService extends AsyncDisposable {
  readonly origin: string;
  readonly replayOrigin: string;
  /** The id of the account, as paths have it. */
  accountId(email: string): number;
  /** A link that signs in once. */
  signInLink(email: string): Promise<string>;
}

/** While a market of five minutes is traded. */
const REPLAY_FROM = '2026-01-08T10:31:00Z';

/** Everything but the times, ids and keys is the same in each run. */
export async function startDemoService(): Promise<DemoService> {
  await using resources = new AsyncDisposableStack();
  const directory = resources.use(temporaryDirectory()).path;
  const data = join(directory, 'data');
  const anvil = HAS_ANVIL ? resources.use(await startAnvil()) : undefined;
  const port = String(await freePort());
  // Passkeys need a name.
  const origin = `http://localhost:${port}`;
  mkdirSync(data);
  const registry = resources.use(openRegistry(data, { create: true }));
  const activity = resources.use(openActivity(data));
  // Before the service adds entries of its own: the audit is in the order of its entries.
  addPeople(registry, activity.database, Date.now());
  resources.use(
    await startServer(data, [
      ...['--demo', '--port', port, '--public-url', origin, '--sign-up', 'open'],
      // Nothing is sent.
      ...['--contact', 'mailto:sales@example.com'],
      ...['--smtp-url', 'smtp://127.0.0.1:9', '--smtp-sender', 'bookreel@example.com'],
      ...(anvil === undefined
        ? []
        : ['--payments', writePaymentSettings(directory, anvil, { currency: 'ETH' }, SELLER)]),
    ]),
  );
  // It was written in the future, so that it is never too old.
  writeRecorderStatus(data, troubledStatus(Date.now() + HOUR_MS));
  if (anvil !== undefined) await buyPro(registry, origin);
  const replay = resources.use(
    startChild([EXECUTABLE, 'replay', '--paper', '--from', REPLAY_FROM, '--data', data, '--port', '0']),
  );
  const [, replayOrigin = ''] = await replay.said(/^REST +(\S+)$/m);
  const started = resources.move();
  return {
    origin,
    replayOrigin,
    accountId: (email) => registry.accounts.findByEmail(email)!.id,
    signInLink: async (email) =>
      (await printed(['account', 'link', email, '--public-url', origin, '--data', data])).trim(),
    [Symbol.asyncDispose]: async () => await started.disposeAsync(),
  };
}

async function buyPro(registry: Registry, origin: string): Promise<void> {
  setPrice(registry, 'pro', PRO_USD);
  setPrice(registry, 'starter', 19);
  const request = { account: ADMIN, name: 'payments', tier: undefined, requestsPerMinute: undefined };
  const { status } = await buy({ origin, key: createKey(registry, Date.now(), request).key });
  if (status !== 200) throw new Error(`the tier was not bought: ${status}`);
}

function addPeople(registry: Registry, activity: Database, nowMs: number): void {
  const random = randomsOf(1);
  const use = activity.query('INSERT INTO key_uses (key_id, last_used_ms) VALUES (?, ?)');
  /** In the order of their times, as in a service: the audit shows them in the order of its entries. */
  const events: [atMs: number, happen: () => void][] = [];
  for (const { email, name, tier, days, keys } of PEOPLE as readonly Person[]) {
    const ages = Object.values(keys).map(([ageDays]) => ageDays);
    const createdMs = nowMs - Math.max(0, ...ages) * DAY_MS - HOUR_MS;
    events.push([
      createdMs,
      () => {
        registry.database.write(() => createAccount({ registry, nowMs: createdMs }, { email, ...(name && { name }) }));
        if (tier === undefined) return;
        const { id } = registry.accounts.findByEmail(email)!;
        grantTier({ registry, nowMs: createdMs }, id, tier, days === undefined ? undefined : nowMs + days * DAY_MS);
      },
    ]);
    for (const [key, [ageDays, requests]] of Object.entries(keys)) {
      const sinceMs = nowMs - ageDays * DAY_MS;
      const create = () => {
        const { apiKey } = createKey(registry, sinceMs, {
          account: email,
          name: key,
          tier: undefined,
          requestsPerMinute: undefined,
        });
        storeUsage(activity, hours(apiKey.id, sinceMs, nowMs, requests, random));
        activity.write(() => use.run(apiKey.id, nowMs - Math.round(HOUR_MS * random())));
      };
      events.push([sinceMs, create]);
    }
  }
  events.push(...exceptions(registry, nowMs));
  for (const [, happen] of events.sort(([a], [b]) => a - b)) happen();
}

/** A tier without a price, keys with limits, an account that is disabled: each with its time. */
function exceptions(registry: Registry, nowMs: number): readonly [atMs: number, happen: () => void][] {
  const daysAgo = (days: number) => ({ registry, nowMs: nowMs - days * DAY_MS });
  const idOf = (email: string) => registry.accounts.findByEmail(email)!.id;
  const request = { account: ADMIN, tier: undefined, requestsPerMinute: undefined };
  const month = daysAgo(30);
  let lost = '';
  const happenings: readonly [days: number, happen: () => void][] = [
    [300, () => setRole(daysAgo(300), idOf(ADMIN), 'admin')],
    [
      30,
      () => {
        createTier(month, {
          id: 'academic',
          name: 'Academic',
          requestsPerMinute: 240,
          priceNote: 'on request',
          place: 3,
        });
        const limits = { asOfMs: nowMs - 60 * DAY_MS, expiresMs: nowMs + 10 * DAY_MS };
        const replayed = createKey(registry, month.nowMs, { ...request, name: 'as of the competition', ...limits });
        changeKey(month, replayed.apiKey.id, { tier: 'enterprise' });
        lost = createKey(registry, month.nowMs, { ...request, name: 'lost laptop' }).apiKey.id;
      },
    ],
    [3, () => void revokeKey(daysAgo(3), lost)],
    [2, () => disableAccount(daysAgo(2), idOf('former@example.net'), () => undefined)],
  ];
  return happenings.map(([days, happen]) => [nowMs - days * DAY_MS, happen]);
}

/** Requests of each hour, more by day and on weekdays, and more each month. */
function* hours(
  keyId: string,
  sinceMs: number,
  nowMs: number,
  busy: number,
  random: () => number,
): Generator<SeededRequests> {
  for (let startMs = sinceMs - (sinceMs % HOUR_MS); startMs <= nowMs; startMs += HOUR_MS) {
    const growth = 0.4 + (0.6 * (startMs - sinceMs)) / (nowMs - sinceMs);
    const byDay = 0.35 + 0.65 * Math.sin((Math.PI * (startMs % DAY_MS)) / DAY_MS) ** 2;
    const byWeek = [0, 6].includes(new Date(startMs).getUTCDay()) ? 0.55 : 1;
    const level = busy * growth * byDay * byWeek * (0.6 + 0.8 * random());
    for (const [route, bytes, part] of ROUTES) {
      const requests = Math.round(level * part);
      if (requests === 0) continue;
      const limited = random() < 0.1 ? Math.round(requests * 0.2 * random()) : 0;
      const forbidden = random() < 0.02 ? Math.ceil(requests * 0.05) : 0;
      const failed = random() < 0.05 ? 1 : 0;
      yield { keyId, route, startMs, counts: [requests, forbidden, limited, failed, (requests - limited) * bytes] };
    }
  }
}
