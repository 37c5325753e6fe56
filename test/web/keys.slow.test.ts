import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { changeKey } from '../../src/account/account-keys.ts';
import { RECENT_SIGN_IN_MS } from '../../src/account/recent-sign-in.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { importBytes, NOW_MS } from '../support/archive.ts';
import { finished } from '../support/executable.ts';
import { lightNdjson } from '../support/light-recording.ts';
import type { PlainBrowser, Shown } from './browser.ts';
import { factsOf, plainText, rowsOf } from './page-content.ts';
import { fieldValue, type Site, startSite, textOf } from './site.ts';

const ADA = 'ada@example.com';
const EVE = 'eve@example.com';
const NEXT = '__Host-bookreel-next';

/** Opens the form and sends it. */
async function create(browser: PlainBrowser, fields: Readonly<Record<string, string>> = {}): Promise<Shown> {
  const form = await browser.open('/account/keys/new');
  return await browser.post('/account/keys/new', { keysBefore: fieldValue(form.text, 'keysBefore'), ...fields });
}

function keysOf({ people: { registry } }: Site, email = ADA) {
  return registry.apiKeys.list().filter(({ account }) => account === email);
}

async function statusWith(site: Site, key: string): Promise<number> {
  return (await fetch(`${site.origin}/v1/account`, { headers: { authorization: `Bearer ${key}` } })).status;
}

test.each([
  [{ days: '90' }, 90],
  [{ days: '' }, undefined],
  [{ days: 'at', expires: '2026-06-03 00:00' }, 2],
  // It was typed, and then another lifetime was chosen: the field is not seen.
  [{ days: '30', expires: '2026-06-03 00:00' }, 30],
] as const)(
  'A key expires after the chosen days, or at the time that was chosen and typed. (%j)',
  async (fields, days) => {
    await using site = startSite();
    const shown = await create(await site.signedIn(ADA), fields);
    expect(keysOf(site)[0]!.expiresMs).toBe(days && NOW_MS + days * 86_400_000);
    expect(shown.text).toContain('href="/account/keys">Done</a>');
  },
);

test('A number of days that is no choice creates no key: it would live longer than was meant.', async () => {
  await using site = startSite();
  const shown = await create(await site.signedIn(ADA), { days: '7' });
  expect([shown.status, plainText(shown.text)]).toEqual([400, expect.stringContaining("'7' is no choice of days")]);
  expect(keysOf(site)).toEqual([]);
});

test('A key is created with a name, an end and an as-of, and shown once', async () => {
  await using site = startSite();
  await importBytes(site.archive, lightNdjson(4));
  const ada = await site.signedIn(ADA);
  expect((await ada.open('/account')).text).toContain('href="/account/keys/new"');
  const shown = await create(ada, { name: ' <b>x</b>', expires: '2027-01-01T00:00', asOf: '2026-05-01T12:30:15' });
  expect([shown.status, shown.headers.get('cache-control')]).toEqual([200, 'no-store']);
  const [created] = keysOf(site);
  expect(created).toMatchObject({
    name: '<b>x</b>',
    tier: undefined,
    expiresMs: Date.parse('2027-01-01T00:00Z'),
    asOfMs: Date.parse('2026-05-01T12:30:15Z'),
  });
  const key = textOf(shown.text, 'key');
  expect(key).toStartWith(created!.prefix);
  expect([await statusWith(site, key), shown.text.includes('<b>x')]).toEqual([200, false]);
  for (const path of ['/account', '/account/keys', `/account/keys/${created!.id}`]) {
    const { status, text } = await ada.open(path);
    expect([path, status, text.includes(key), text.includes('<b>x')]).toEqual([path, 200, false, false]);
  }
  expect((await ada.open('/account/keys')).text).toContain('&lt;b>x');
});

test.skipIf(Bun.which('curl') === null).each<[string[] | undefined, string[] | undefined, string]>([
  [['btc'], ['markets'], '/v1/btc/markets?recorded=true&limit=1'],
  [['eth'], ['markets'], '/v1/coins'],
  [undefined, ['prices'], '/v1/account'],
])(
  'The command that is shown with a new key asks for what its tier grants, and works as pasted. (coins %j, routes %j: %s, needs curl)',
  async (coins, routes, path) => {
    await using site = startSite();
    await importBytes(site.archive, lightNdjson(4));
    const { registry } = site.people;
    registry.database.write(() => registry.tiers.update({ ...registry.tiers.named('free'), coins, routes }));
    const shown = await create(await site.signedIn(ADA));
    const command = textOf(shown.text, 'command');
    expect(command).toEndWith(`'${site.origin}${path}'`);
    const { stdout } = await finished(['sh', '-c', command], { env: { PATH: process.env.PATH! } });
    expect(JSON.parse(stdout)).not.toHaveProperty('error');
  },
);

test('A key is shown also while the archive cannot be read', async () => {
  await using site = startSite();
  await importBytes(site.archive, lightNdjson(4));
  const ada = await site.signedIn(ADA);
  rmSync(join(site.people.directory, RECORDINGS.name));
  const { status, text } = await create(ada);
  expect([status, textOf(text, 'command')]).toEqual([200, expect.stringContaining(`${site.origin}/v1/coins`)]);
  expect(textOf(text, 'key')).toStartWith(keysOf(site)[0]!.prefix);
});

test('A form that creates or rotates a key is accepted once: it states the number of keys, or the prefix of the key.', async () => {
  await using site = startSite();
  const ada = await site.signedIn(ADA);
  const form = { keysBefore: fieldValue((await ada.open('/account/keys/new')).text, 'keysBefore') };
  const both = await Promise.all([1, 2].map(() => ada.post('/account/keys/new', form)));
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect(both.find(({ status }) => status === 409)!.text).toContain('look at your keys first');
  const [{ id, prefix }] = keysOf(site) as [ReturnType<typeof keysOf>[0]];
  const page = (await ada.open(`/account/keys/${id}`)).text;
  expect([fieldValue(page, 'key'), fieldValue(page, 'prefix')]).toEqual([id, prefix]);
  const rotated = await ada.post('/account/keys/rotate', { key: id, prefix });
  expect(rotated.status).toBe(200);
  expect((await ada.post('/account/keys/rotate', { key: id, prefix })).status).toBe(409);
  expect(await statusWith(site, textOf(rotated.text, 'key'))).toBe(200);
  // Revoked keys count: they were created too.
  await ada.post('/account/keys/revoke', { key: id });
  expect((await ada.post('/account/keys/new', form)).status).toBe(409);
  expect(keysOf(site).length).toBe(1);
});

test('A key is rotated and revoked at once', async () => {
  await using site = startSite();
  const ada = await site.signedIn(ADA);
  const first = textOf((await create(ada)).text, 'key');
  const [{ id, prefix }] = keysOf(site) as [ReturnType<typeof keysOf>[0]];
  const second = textOf((await ada.post('/account/keys/rotate', { key: id, prefix })).text, 'key');
  expect([await statusWith(site, first), await statusWith(site, second)]).toEqual([401, 200]);
  const revoked = await ada.post('/account/keys/revoke', { key: id });
  const list = `/account/keys?revoked=${id}`;
  expect([revoked.status, revoked.headers.get('location')]).toEqual([303, list]);
  expect(await statusWith(site, second)).toBe(401);
  expect((await ada.open(list)).text).toContain('is revoked: requests with it are refused');
  // A link of another site cannot make the page say so.
  await create(ada);
  const created = keysOf(site).find((key) => key.id !== id);
  const eve = await site.signedIn(EVE);
  for (const [browser, path] of [
    [ada, `/account/keys?revoked=${created!.id}`],
    [eve, list],
  ] as const) {
    expect((await browser.open(path)).text).not.toContain('is revoked');
  }
  expect((await ada.open(`/account/keys/${id}`)).status).toBe(404);
});

test('The page to create a key asks for the sign-in before the person fills it in, and the person comes back to it.', async () => {
  await using site = startSite();
  const ada = await site.signedIn(ADA);
  await create(ada);
  const [{ id, prefix }] = keysOf(site) as [ReturnType<typeof keysOf>[0]];
  site.people.passTime(RECENT_SIGN_IN_MS);
  const before = keysOf(site);
  const away = async (answer: Promise<Shown>) => {
    const { status, headers } = await answer;
    return [status, headers.get('location'), ada.cookies.get(NEXT)];
  };
  expect(await away(ada.post('/account/keys/new', { keysBefore: '1' }))).toEqual([
    303,
    '/sign-in',
    '/account/keys/new',
  ]);
  expect(await away(ada.post('/account/keys/rotate', { key: id, prefix }))).toEqual([303, '/sign-in', '/account/keys']);
  expect(keysOf(site)).toEqual(before);
  expect(await away(ada.open('/account/keys/new'))).toEqual([303, '/sign-in', '/account/keys/new']);
  expect((await ada.open('/sign-in')).text).toContain(`signed in as <strong>${ADA}</strong>`);
  const back = await ada.post('/sign-in/link', { token: site.people.createLink(ADA) });
  expect([back.headers.get('location'), (await create(ada)).status]).toEqual(['/account/keys/new', 200]);
});

test('A form that is refused keeps what was typed', async () => {
  await using site = startSite();
  const ada = await site.signedIn(ADA);
  const cases: [Record<string, string>, string][] = [
    [{ expires: '2020-01-01T00:00' }, 'A key cannot expire in the past'],
    [{ expires: '2020-02-30T00:00' }, 'This is not a time'],
    [{ days: 'at', expires: '' }, 'No time is given: enter one, or choose another lifetime'],
    [{ asOf: 'yesterday' }, 'is not a time'],
    [{ name: `"><script>${'x'.repeat(100)}` }, 'A name has 1 to 100 characters, and this one has 110'],
  ];
  for (const [fields, reason] of cases) {
    const typed = { name: 'kept', ...fields };
    const { status, text } = await create(ada, typed);
    expect([status, text.replaceAll("'", '&#x27;')]).toEqual([400, expect.stringContaining(reason)]);
    for (const [name, value] of Object.entries(typed)) {
      if (value !== '' && name !== 'days') expect(fieldValue(text, name)).toBe(value);
    }
    // The field of a refused end is seen.
    if ('expires' in fields) expect(text).toContain('<option value="at" selected>');
    expect(text).not.toContain('<script>');
  }
  expect(keysOf(site)).toEqual([]);
});

test('A key of another account is not found, and nothing changes', async () => {
  await using site = startSite();
  await create(await site.signedIn(ADA));
  const [key] = keysOf(site) as [ReturnType<typeof keysOf>[0]];
  const eve = await site.signedIn(EVE);
  for (const id of [key.id, 'key_none']) {
    const answers = [
      await eve.open(`/account/keys/${id}`),
      await eve.post('/account/keys/rotate', { key: id, prefix: key.prefix }),
      await eve.post('/account/keys/revoke', { key: id }),
    ];
    for (const { status, text } of answers) {
      expect([status, text]).toEqual([404, expect.stringContaining('Your account has no such key')]);
      expect(text).not.toContain(key.prefix);
    }
  }
  expect([keysOf(site), keysOf(site, EVE)]).toEqual([[key], []]);
});

test('A key that was revoked meanwhile is not rotated, and the sentence names no command', async () => {
  await using site = startSite();
  const ada = await site.signedIn(ADA);
  await create(ada, { name: 'laptop' });
  const [key] = keysOf(site);
  await ada.post('/account/keys/revoke', { key: key!.id });
  const { status, text } = await ada.post('/account/keys/rotate', { key: key!.id, prefix: key!.prefix });
  expect([status, text]).toEqual([409, expect.stringContaining('was revoked, which is final: create a new one.')]);
});

test('The list has keys that expired, with their limits and last use, and none of others', async () => {
  await using site = startSite();
  const { registry, service } = site.people;
  const { id } = registry.accounts.create({ email: ADA }, NOW_MS);
  const pinned = { accountId: id, name: 'pinned', tier: 'pro', requestsPerMinute: 1234, expiresMs: NOW_MS + 60_000 };
  const { apiKey } = registry.database.write(() => registry.apiKeys.create(pinned, NOW_MS));
  service.activity.usage.count(apiKey.id, '/v1/coins', 200, 10, NOW_MS + 120_000);
  await create(await site.signedIn(EVE), { name: 'of Eve' });
  const ada = await site.signedIn(ADA);
  site.people.passTime(180_000);
  const { text } = await ada.open('/account/keys');
  expect(rowsOf(text, 'Keys')).toEqual([
    {
      Name: 'pinned expired 1,234 a minute',
      'Begins with': `${apiKey.prefix}…`,
      Tier: 'Pro',
      'Requests, 30 days': '1',
      'Last used (UTC)': '2026-06-01 00:02',
      'Expires (UTC)': '2026-06-01 00:01',
    },
  ]);
  expect(text).toContain(`href="/account/keys/${apiKey.id}"`);
  expect(text).toContain('0 valid keys');
  expect(factsOf((await ada.open(`/account/keys/${apiKey.id}`)).text)).toEqual({
    Key: `${apiKey.prefix}… expired 1,234 a minute`,
    Id: apiKey.id,
    Tier: 'Pro',
    'Requests in 30 days': '1',
    Created: '2026-06-01 00:00 UTC',
    'Last used': '2026-06-01 00:02 UTC',
    Expires: '2026-06-01 00:01 UTC',
  });
  const overview = (await ada.open('/account')).text;
  expect(overview).toMatch(/Requests in 24 hours<\/dt><dd>1<\/dd>/);
});

test('A key is renamed by its owner alone, and its list has tier and requests of 30 days.', async () => {
  await using site = startSite();
  const ada = await site.signedIn(ADA);
  await create(ada, { name: 'first' });
  const [key] = keysOf(site);
  const rename = async (browser: PlainBrowser, name: string) =>
    await browser.post('/account/keys/rename', { key: key!.id, name });
  expect((await rename(ada, ' <i>bot</i> ')).status).toBe(303);
  expect(keysOf(site)[0]!.name).toBe('<i>bot</i>');
  const [row] = rowsOf((await ada.open('/account/keys')).text, 'Keys');
  expect(row).toMatchObject({ Tier: 'Free', 'Requests, 30 days': '0' });
  expect(factsOf((await ada.open(`/account/keys/${key!.id}`)).text)).toMatchObject({ Tier: 'Free, as your account' });
  // The activity has the name that the key has now.
  const activity = rowsOf((await ada.open('/account')).text, 'Latest activity').map((entry) => entry.Activity);
  expect(activity).toContain('Created the key <i>bot</i>');
  expect((await rename(await site.signedIn(EVE), 'mine')).status).toBe(404);
  expect((await rename(ada, 'a\u0000b')).status).toBe(400);
  expect(keysOf(site)[0]!.name).toBe('<i>bot</i>');
  await rename(ada, '');
  expect(keysOf(site)[0]!.name).toBeUndefined();
});

test('The overview has a quick start until the first request, and then a chart and the refusals with their reasons.', async () => {
  await using site = startSite();
  const ada = await site.signedIn(ADA);
  const shown = await create(ada, { name: 'bot' });
  const before = (await ada.open('/account')).text;
  expect([before.includes('Send a request'), before.includes('Refused in the last 30 days')]).toEqual([true, false]);
  const key = textOf(shown.text, 'key');
  const ask = async (path: string) =>
    (await fetch(`${site.origin}${path}`, { headers: { authorization: `Bearer ${key}` } })).status;
  expect(await ask('/v1/sol/markets')).toBe(403);
  expect(await statusWith(site, key)).toBe(200);
  const after = (await ada.open('/account')).text;
  expect(after.includes('Send a request')).toBe(false);
  expect(rowsOf(after, 'Refused in the last 30 days')).toEqual([
    {
      Refusal: 'Forbidden (403) Your tier does not have the route or the coin.',
      'Mostly at': '/v1/{coin}/markets',
      Requests: '1',
    },
  ]);
  // The chart of the page of usage.
  expect([before, after].map((text) => text.includes('id="usage-chart"'))).toEqual([false, true]);
});

test('The overview has a gauge of the current minute for each valid key that sent a request in it: what is left there is what the next request is told, and looking costs nothing.', async () => {
  await using site = startSite();
  const { registry, nowMs } = site.people;
  const ada = await site.signedIn(ADA);
  const eve = await site.signedIn(EVE);
  const ofEve = textOf((await create(eve, { name: 'of Eve' })).text, 'key');
  const [bot, idle] = [textOf((await create(ada, { name: 'bot' })).text, 'key'), await create(ada, { name: 'idle' })];
  await create(ada, { name: 'gone' });
  const keyNamed = (name: string) => keysOf(site).find((key) => key.name === name)!;
  await ada.post('/account/keys/revoke', { key: keyNamed('gone').id });
  changeKey({ registry, nowMs: nowMs() }, keyNamed('idle').id, { requestsPerMinute: 1234 });
  expect(idle.status).toBe(200);
  const remaining = async (key: string) => {
    const { headers } = await fetch(`${site.origin}/v1/coins`, { headers: { authorization: `Bearer ${key}` } });
    return Number(headers.get('x-ratelimit-remaining'));
  };
  const gauges = async (browser: PlainBrowser) => {
    const { text } = await browser.open('/account');
    const meters = [...text.matchAll(/<meter min="0" max="(\d+)"[^>]* value="(\d+)" aria-label="([^"]*)"/g)];
    return meters.map(([, limit, used, name]) => [name, Number(used), Number(limit)]);
  };
  for (const sent of [1, 2, 3]) {
    const left = await remaining(bot);
    expect(await gauges(ada)).toEqual([['bot', sent, sent + left]]);
  }
  expect(plainText((await ada.open('/account')).text)).toMatch(/bot 3 of 10 \d+ s /);
  await remaining(ofEve);
  expect(await gauges(eve)).toEqual([['of Eve', 1, 10]]);
  // A refused request does not count.
  for (let left = await remaining(bot); left > 0; left -= 1) await remaining(bot);
  await remaining(bot);
  expect((await gauges(ada))[0]).toEqual(['bot', 10, 10]);
});
