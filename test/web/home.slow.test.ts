import { expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { grantTier } from '../../src/account/administration.ts';
import { importBytes, importRecords, NOW_MS } from '../support/archive.ts';
import { lightNdjson } from '../support/light-recording.ts';
import { CONDITION_ID, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { PlainBrowser } from './browser.ts';
import { plainText } from './page-content.ts';
import { fieldValue, type Site, startSite, textOf, unescaped } from './site.ts';

const DAY_MS = 86_400_000;
const home = async ({ origin }: Site) => (await new PlainBrowser(origin).open('/', { accept: 'text/html' })).text;
const picturesIn = (text: string) => [...text.matchAll(/<img src="(\/pictures\/[^"]+)"/g)].map(([, path]) => path!);

/** A closed market with this number of snapshots, ten seconds apart. */
function records(nth: number, symbol: string, snapshots: number): object[] {
  const conditionId = `0x${nth}`.padEnd(66, String(nth));
  const startMs = NOW_MS - 3 * DAY_MS + nth * 300_000;
  const [startTime, endTime] = [startMs, startMs + 300_000].map((ms) => new Date(ms).toISOString());
  const ids = { conditionId, slug: `secret-market-${nth}`, symbol, clobTokenIds: [`${nth}1`, `${nth}2`] };
  const book = (i: number) =>
    sampleSnapshot({
      ...ids,
      assetId: `${nth}1`,
      timestamp: new Date(startMs + 60_000 + 10_000 * i).toISOString(),
    });
  return [sampleMarket({ ...ids, startTime, endTime }), ...Array.from({ length: snapshots }, (_, i) => book(i))];
}

test('Home without a recorded market shows no picture, and no path has one.', async () => {
  await using site = startSite();
  expect((await home(site)).match(/<figure|\/pictures\//g)).toBeNull();
  expect((await fetch(`${site.origin}/pictures/0123456789abcdef.svg`)).status).toBe(404);
});

test('Home shows a request for a book of the market of its picture, which has the answer that it shows, and says if that market is simulated.', async () => {
  await using site = startSite();
  expect(await home(site)).not.toContain('Ask for the book');
  const slug = 'simulated-btc-updown-5m-1776323400';
  await importRecords(site.archive, [sampleMarket({ slug }), sampleSnapshot()]);
  const text = await home(site);
  expect(text).toContain('A simulated market of this demo');
  const [, asked, answer] = /<code>GET (.*?)<\/code>.*?<samp>(.*?)<\/samp>/s
    .exec(text)!
    .map((part) => unescaped(part.replaceAll('<wbr/>', '')));
  expect(asked).toStartWith(`/v1/btc/markets/${slug}/snapshots/at/`);
  const shown = JSON.parse(answer!.replace(', …', '')) as { data: [object] };
  const { registry } = site.people;
  registry.database.write(() => registry.accounts.create({ email: 'ada@example.com' }, NOW_MS));
  const request = { account: 'ada@example.com', name: undefined, tier: 'pro', requestsPerMinute: undefined };
  const { key } = createKey(registry, NOW_MS, request);
  const response = await fetch(site.origin + asked, { headers: { authorization: `Bearer ${key}` } });
  expect([response.status, await response.json()]).toEqual([200, { data: [expect.objectContaining(shown.data[0])] }]);
});

test('The pages at /view have the picture of / for visitors, which browsers load only where it is seen.', async () => {
  await using site = startSite();
  const preview = async (path: string) => {
    const { text } = await new PlainBrowser(site.origin).open(path);
    return /<aside class="preview".*?<img src="([^"]+)"[^>]* loading="lazy"/.exec(text)?.[1];
  };
  expect(await preview('/view')).toBeUndefined();
  await importRecords(site.archive, records(1, 'btc', 2));
  const [path] = picturesIn(await home(site));
  expect(path).toBeDefined();
  const medium = path!.replace('.svg', '-medium.svg');
  expect([await preview('/view'), await preview('/view/btc/secret-market-1')]).toEqual([medium, medium]);
  expect((await fetch(site.origin + medium)).status).toBe(200);
});

test('Home shows one picture to everyone: the market of the day of one coin, cached for ever, until it changes.', async () => {
  await using site = startSite();
  await importRecords(site.archive, [...records(1, 'btc', 2), ...records(2, 'btc', 5), ...records(3, 'eth', 9)]);
  const [path, ...others] = picturesIn(await home(site));
  expect(others).toEqual([]);
  const picture = await fetch(site.origin + path!, { headers: { 'accept-encoding': 'identity' } });
  expect([picture.status, picture.headers.get('content-type'), picture.headers.get('cache-control')]).toEqual([
    200,
    'image/svg+xml; charset=utf-8',
    'public, max-age=31536000, immutable',
  ]);
  const svg = await picture.text();
  expect(svg).toContain('BTC up or down, 5m');
  expect(svg).toContain('<path fill="#');
  expect(svg).not.toContain('secret-market');
  // Only the market of the picture is named.
  expect(new Set((await home(site)).match(/secret-market-\d/g))).toEqual(new Set(['secret-market-2']));
  // The axis begins and ends with the fullest market, not with its window.
  expect(svg.match(/>\d\d:\d\d:\d\d</g)?.[0]).toBe('>00:11:00<');
  // The picture for a phone has the same cells, without heading and legend.
  const narrowPath = /<source [^>]*srcset="([^"]+)"/.exec(await home(site))![1]!;
  const narrow = await (await fetch(site.origin + narrowPath)).text();
  const cellsIn = (text: string) => text.match(/crispEdges/g)!.length;
  expect([cellsIn(narrow), /viewBox="0 0 (\d+)/.exec(narrow)![1]]).toEqual([cellsIn(svg), '420']);
  expect([svg.includes('>Bids<'), narrow.includes('>Bids<')]).toEqual([true, false]);
  const again = await fetch(site.origin + path!, {
    headers: { 'accept-encoding': 'identity', 'if-none-match': picture.headers.get('etag')! },
  });
  expect(again.status).toBe(304);
  // Of no other market is there a picture, whatever the path names.
  for (const name of [
    CONDITION_ID,
    'secret-market-1',
    'secret-market-3.svg',
    'eth',
    path!.slice(10, -5),
    '-narrow.svg',
  ]) {
    expect((await fetch(`${site.origin}/pictures/${name}`)).status).toBe(404);
  }
  await importRecords(site.archive, records(2, 'btc', 6));
  const [changed] = picturesIn(await home(site));
  expect(changed).not.toBe(path!);
  expect((await fetch(site.origin + path!)).status).toBe(404);
  expect(await (await fetch(site.origin + changed!)).text()).not.toBe(svg);
});

test('Home has a way for visitors, customers and operators each, and a button that copies the first request.', async () => {
  await using site = startSite();
  await importRecords(site.archive, records(1, 'btc', 2));
  const text = await home(site);
  const ways = [...text.matchAll(/<section class="card"><h2>([^<]+)<\/h2>(.*?)<\/section>/g)];
  const linksOf = Object.fromEntries(
    ways.map(([, name, list]) => [name, [...list!.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)]),
  );
  expect(Object.keys(linksOf)).toEqual(['New here?', 'Customers', 'Operators']);
  expect(linksOf['New here?']).toEqual(['/docs/manual', '/pricing', '/sign-in']);
  expect(linksOf.Customers).toEqual(expect.arrayContaining(['/view', '/account/keys', '/docs']));
  expect(linksOf.Operators).toEqual(expect.arrayContaining(['/docs/install', '/docs/operations']));
  for (const [, path] of text.matchAll(/<li><a href="([^"]+)"/g))
    expect((await fetch(site.origin + path!)).status, path).toBe(200);
  const [, copied] = /<code id="first-request">([^<]*)<\/code>/.exec(text)!;
  expect(unescaped(copied!)).toBe(
    `curl -s -H "Authorization: Bearer $BOOKREEL_KEY" '${site.origin}/v1/btc/markets?recorded=true&limit=1'`,
  );
  expect(text).toContain('data-copy="#first-request"');
  expect(text).toContain('<span class="badge accent">BTC</span>');
  const foot = [...text.split('<footer')[1]!.matchAll(/<a href="([^"]+)"/g)].map(([, path]) => path!);
  expect(foot).toEqual(expect.arrayContaining(['/docs/manual', '/docs', '/llms.txt', '/pricing']));
  for (const path of foot) expect((await fetch(site.origin + path)).status, path).toBe(200);
});

test('Home leads a person who is signed in to the recordings, their keys and the overview, names them, and stores nothing.', async () => {
  await using site = startSite();
  await importRecords(site.archive, records(1, 'btc', 2));
  const ada = await site.signedIn('ada@example.com');
  const response = await ada.open('/', { accept: 'text/html' });
  const actions = [...response.text.split('<figure')[0]!.matchAll(/<a class="button[^"]*" href="([^"]+)">([^<]+)/g)];
  expect(actions.map(([, href, name]) => [href, name])).toEqual([
    ['/view', 'Recordings'],
    ['/account/keys', 'Your keys'],
    ['/account', 'Overview'],
  ]);
  expect(response.text).toContain('ada@example.com');
  expect(response.text).toContain('Take one of <a href="/account/keys">your keys</a>');
  expect(response.text).not.toMatch(/Get a key|\/sign-in/);
  expect(response.headers.get('cache-control')).toBe('no-store');
  // Also the button in the menu of the account works.
  expect(response.headers.get('content-security-policy')).toContain("form-action 'self'");
  expect(await home(site)).toContain('Get a key');
  // So do the pages of recordings.
  for (const path of ['/view', '/view/btc/nothing']) {
    const page = await ada.open(path);
    expect(page.text).toContain('Signed in as');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(await (await fetch(site.origin + path)).text()).not.toContain('Signed in as');
  }
});

test.each<readonly [string | undefined, number]>([
  ['mailto:sales@example.com', 3],
  ['https://example.com/contact?about=prices', 3],
  [undefined, 0],
])('Each tier without a price has the contact %p on the pages of pricing and plan.', async (contact, count) => {
  await using site = startSite({}, undefined, undefined, contact);
  const ada = await site.signedIn('ada@example.com');
  for (const path of ['/pricing', '/account/plan']) {
    const { text } = await ada.open(path);
    expect(text.match(/On request/g)).toHaveLength(2);
    expect([...text.matchAll(/href="([^"]+)">Contact us</g)].map(([, href]) => href)).toEqual(
      Array.from({ length: count }, () => contact!),
    );
  }
});

test('With accounts, home leads to the account for a key, and has no command of the operator.', async () => {
  await using site = startSite();
  await importBytes(site.archive, lightNdjson(4));
  const { text } = await new PlainBrowser(site.origin).open('/', { accept: 'text/html' });
  expect(plainText(text)).toContain('Create one in your account . A key is shown only once.');
  expect([text.includes('curl'), text.includes('bookreel key create')]).toEqual([true, false]);
});

test('Each command of home that is not said to need another tier works with the first key of a new account.', async () => {
  await using site = startSite();
  await importRecords(site.archive, [...records(1, 'ada', 2), ...records(2, 'btc', 5)]);
  const ada = await site.signedIn('ada@example.com');
  const form = await ada.open('/account/keys/new');
  const created = await ada.post('/account/keys/new', { keysBefore: fieldValue(form.text, 'keysBefore') });
  const KEY = textOf(created.text, 'key');
  const cards = (await home(site)).split('<li class="card">');
  const commandsIn = (card: string) =>
    [...card.matchAll(/<code[^>]*>([^<]*curl [^<]*)<\/code>/g)].map(([, text]) => unescaped(text!));
  const answers = async (commands: string) => {
    const shell = Bun.spawn(['sh', '-c', commands], { env: { ...process.env, BOOKREEL_KEY: KEY }, stdout: 'pipe' });
    return await new Response(shell.stdout).text();
  };
  const first = cards.filter((card) => card.includes('<h2>Send a request</h2>')).flatMap(commandsIn);
  expect(await answers(first.join('\n'))).toContain('"slug":"secret-market-2"');
  const books = cards.filter((card) => card.includes('such as <a href="/pricing">Starter</a>')).flatMap(commandsIn);
  expect(await answers(books.join('\n'))).toContain('does not grant snapshots');
  const { registry, nowMs } = site.people;
  grantTier({ registry, nowMs: nowMs() }, registry.accounts.findByEmail('ada@example.com')!.id, 'starter');
  expect((await answers(books.join('\n'))).match(/"timestamp"/g)).toHaveLength(2);
});
