import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createKey } from '../../src/account/account-keys.ts';
import { createAccount, grantTier } from '../../src/account/administration.ts';
import { changeTier } from '../../src/account/tier-catalog.ts';
import { run } from '../../src/cli/program.ts';
import { importRecords, NOW_MS, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { sampleCoinPrice, sampleGap, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

type Document = Readonly<Record<string, unknown>>;
type Expected = Readonly<Record<string, (document: never) => unknown>>;

let place: TemporaryArchive;
beforeAll(async () => {
  place = temporaryArchive();
  const { archive, registry, activity } = place;
  const resolved = { closed: true, winner: 'down' };
  await importRecords(archive, [
    ...[sampleMarket(resolved), sampleSnapshot(), sampleGap(), sampleCoinPrice()],
    sampleSnapshot({ timestamp: '2026-04-16T07:11:04.123Z' }),
    sampleSnapshot({ timestamp: '2026-04-16T07:12:04.123Z', outcome: 'down', asks: [] }),
    sampleMarket({ conditionId: '0x99', slug: 'btc-updown-5m-1776323700', clobTokenIds: ['1', '2'] }),
  ]);
  const change = { registry, nowMs: NOW_MS };
  const account = registry.database.write(() =>
    createAccount(change, { email: 'ada@example.com', role: 'admin', name: 'Ada' }),
  );
  grantTier(change, account.id, 'pro', NOW_MS + 86_400_000);
  changeTier(change, 'free', { monthlyPriceUsd: 3 });
  const request = { account: account.email, tier: undefined, requestsPerMinute: 77, asOfMs: NOW_MS - 1000 };
  const { apiKey } = createKey(registry, NOW_MS, { ...request, name: 'laptop', expiresMs: NOW_MS + 86_400_000 });
  const job = { atMs: NOW_MS, by: {}, action: 'payment.fail', detail: { job: 'reconciliation' } };
  registry.database.write(() => registry.audit.append(job));
  activity.usage.flush(NOW_MS);
  expect(apiKey.account).toBe(account.email);
});
afterAll(() => place[Symbol.dispose]());

async function printed(...args: string[]): Promise<string> {
  const terminal = captured(() => NOW_MS);
  const code = await run([...args, '--data', place.path], terminal);
  expect(code).toBe(0);
  return terminal.stdout();
}

/** The first `count` rows of a table by their headings. Columns are two spaces apart, and words of a heading one. */
function cellsByHeading(text: string, headings: readonly string[], count: number): Readonly<Record<string, string>>[] {
  const lines = text.split('\n');
  const begin = lines.findIndex((line) => line.split(/ {2,}/).join() === headings.join());
  const starts = [...(lines[begin] ?? '').matchAll(/\S+(?: \S+)*/g)].map(({ index }) => index);
  return lines
    .slice(begin + 1, begin + 1 + count)
    .map((line) =>
      Object.fromEntries(headings.map((heading, at) => [heading, line.slice(starts[at], starts[at + 1]).trim()])),
    );
}

const minute = (text: unknown) => (typeof text === 'string' ? text.slice(0, 16).replace('T', ' ') : '');
const listOf = (list: readonly string[] | null) => list?.join(',') ?? 'all';

const KEY: Expected = {
  ID: ({ id }: Document) => id,
  KEY: ({ prefix }: Document) => `${prefix}…`,
  TIER: ({ tier }: Document) => `(${tier})`,
  RPM: ({ requestsPerMinute }: Document) => requestsPerMinute,
  'AS OF': ({ asOf }: Document) => asOf,
  ACCOUNT: ({ account }: Document) => account,
  NAME: ({ name }: Document) => name,
  CREATED: ({ createdAt }: Document) => createdAt,
  'LAST USED': ({ lastUsedAt }: Document) => lastUsedAt,
  STATE: ({ expiresAt }: Document) => `active until ${expiresAt}`,
};
const AUDIT: Expected = {
  ID: ({ id }: Document) => id,
  TIME: ({ at }: Document) => at,
  ACTION: ({ action }: Document) => action,
  ACTOR: ({ action, actor, operatingUser }: Document) =>
    action === 'payment.fail' ? 'reconciliation (job)' : (actor ?? (operatingUser && `${operatingUser} (command)`)),
  ACCOUNT: ({ account }: Document) => account,
  COUNT: ({ count }: Document) => (count === 1 ? null : count),
  CLIENT: ({ client }: Document) => client,
  REQUEST: ({ requestId }: Document) => requestId,
  DETAIL: ({ detail }: Document) => JSON.stringify(detail),
};

/** Each table: its command, the part of the JSON that has its rows, and the field of each column. */
test.each<[args: string, rowsOf: (document: never) => readonly unknown[], Expected]>([
  [
    'status',
    ({ coins }: { coins: readonly unknown[] }) => coins,
    {
      COIN: ({ symbol }: Document) => symbol,
      MARKETS: ({ markets }: Document) => markets,
      RECORDED: ({ recordedMarkets }: Document) => recordedMarkets,
      SNAPSHOTS: ({ snapshots }: Document) => snapshots,
      GAPS: ({ gaps }: Document) => gaps,
      'FIRST (UTC)': ({ firstAt }: Document) => minute(firstAt),
      'LAST (UTC)': ({ lastAt }: Document) => minute(lastAt),
    },
  ],
  [
    'markets',
    (list: readonly unknown[]) => list,
    {
      MARKET: ({ slug }: Document) => slug,
      'START (UTC)': ({ startTime }: Document) => minute(startTime),
      // All windows are over.
      STATE: ({ winner }: Document) => winner ?? '-',
      SNAPSHOTS: ({ snapshotCount }: Document) => snapshotCount,
      RECORDED: ({ recordedSeconds, windowSeconds }: Document) =>
        `${Math.floor(Number(recordedSeconds))} s of ${windowSeconds} s`,
    },
  ],
  [
    'tier list',
    (list: readonly unknown[]) => list,
    {
      ID: ({ id }: Document) => id,
      COINS: ({ coins }: { coins: readonly string[] | null }) => listOf(coins),
      ROUTES: ({ routes }: { routes: readonly string[] | null }) => listOf(routes),
      RPM: ({ requestsPerMinute }: Document) => requestsPerMinute,
      PRICE: ({ monthlyPriceUsd, priceNote }: Document) =>
        monthlyPriceUsd === null ? priceNote : `$${monthlyPriceUsd}`,
    },
  ],
  ['key list', (list: readonly unknown[]) => list, KEY],
  ['account show ada@example.com', ({ keys }: { keys: readonly unknown[] }) => keys, KEY],
  ['account show ada@example.com', ({ audit }: { audit: readonly unknown[] }) => audit, AUDIT],
  ['audit', (list: readonly unknown[]) => list, AUDIT],
  [
    'account list',
    (list: readonly unknown[]) => list,
    {
      EMAIL: ({ email }: Document) => email,
      NAME: ({ name }: Document) => name,
      ROLE: ({ role }: Document) => role,
      TIER: ({ tier }: Document) => tier,
      'TIER ENDS': ({ tierEndsAt }: Document) => tierEndsAt,
      KEYS: ({ validKeys }: Document) => validKeys,
      CREATED: ({ createdAt }: Document) => createdAt,
      STATE: () => 'active',
    },
  ],
  [
    'account show ada@example.com',
    ({ grants }: { grants: readonly unknown[] }) => grants,
    {
      GRANT: ({ id }: Document) => id,
      TIER: ({ tier }: Document) => tier,
      SOURCE: ({ source }: Document) => source,
      STARTS: ({ startsAt }: Document) => startsAt,
      ENDS: ({ endsAt }: Document) => endsAt,
    },
  ],
  [
    'tier show pro',
    ({ accounts }: { accounts: readonly unknown[] }) => accounts,
    { ACCOUNT: ({ email }: Document) => email, 'TIER ENDS': ({ endsAt }: Document) => endsAt },
  ],
  [
    'delete --all --dry-run',
    ({ coins }: { coins: readonly unknown[] }) => coins,
    {
      COIN: ({ coin }: Document) => coin,
      MARKETS: ({ markets }: Document) => markets,
      'FROM (UTC)': ({ from }: Document) => minute(from),
      'TO (UTC)': ({ to }: Document) => minute(to),
      RECORDS: ({ records }: Document) => records,
      'COIN PRICES': ({ coinPrices }: Document) => coinPrices,
      BYTES: ({ bytes }: Document) => bytes,
    },
  ],
  [
    'config show',
    (list: readonly unknown[]) => list,
    {
      SETTING: ({ setting }: Document) => setting,
      VALUE: ({ value }: Document) => value,
      ORIGIN: ({ from, origin }: Document) => from ?? origin,
    },
  ],
  [
    'manual',
    (list: readonly unknown[]) => list,
    {
      page: ({ name }: Document) => name,
      for: ({ audience }: Document) => audience,
      about: ({ summary }: Document) => summary,
    },
  ],
  [
    'show btc-updown-5m-1776323400',
    ({ coverage }: { coverage: { outcomes: readonly unknown[] } }) => coverage.outcomes,
    {
      OUTCOME: ({ outcome, mirrored }: Document) => (mirrored === true ? `${outcome} (mirrored)` : outcome),
      SNAPSHOTS: ({ count }: Document) => count,
      RECORDED: ({ recordedSeconds }: Document) => `${recordedSeconds} s`,
      FIRST: ({ first }: Document) => first ?? '-',
      LAST: ({ last }: Document) => last ?? '-',
      'ONE-SIDED': ({ oneSided }: Document) => oneSided,
      CROSSED: ({ crossed }: Document) => crossed,
      'LONGEST SILENCE': ({ longestSilence }: { longestSilence: { milliseconds: number } | null }) =>
        longestSilence === null ? '-' : `${longestSilence.milliseconds / 1000} s`,
    },
  ],
])('%s has every cell of the JSON under its heading', async (args, rowsOf, expected) => {
  const words = args.split(' ');
  const text = await printed(...words);
  const document: never = JSON.parse(await printed(...words, '--json')) as never;
  const rows = rowsOf(document);
  expect(rows.length).toBeGreaterThan(0);
  const wanted = rows.map((row) =>
    Object.fromEntries(
      Object.entries(expected).map(([heading, cellOf]) => [heading, String(cellOf(row as never) ?? '')]),
    ),
  );
  expect(cellsByHeading(text, Object.keys(expected), rows.length)).toEqual(wanted);
});

test('inspect has every cell under its heading', async () => {
  const path = join(place.path, 'rows.csv');
  await Bun.write(path, 'ts,price\n1776323400123,0.5\n1776323400124,\n');
  const fields = cellsByHeading(await printed('inspect', path), ['FIELD', 'TYPE', 'ROWS', 'SAMPLES'], 2);
  expect(fields).toEqual([
    { FIELD: 'ts', TYPE: 'integer', ROWS: '2', SAMPLES: '1776323400123  1776323400124' },
    { FIELD: 'price', TYPE: 'number', ROWS: '1', SAMPLES: '0.5' },
  ]);
});
