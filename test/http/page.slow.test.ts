import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { exchange, requestOf } from '../contract/raw-http.ts';
import { importRecords } from '../support/archive.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { startReplaying } from './replay/replaying.ts';
import { startService } from './service.ts';

const PAGE = { accept: 'text/html' };

const service = startService();
beforeAll(() => importRecords(service.archive, [sampleMarket(), sampleSnapshot()]));
afterAll(() => service[Symbol.asyncDispose]());

async function shown(origin: string, path: string, headers: Record<string, string>): Promise<string> {
  const page = await fetch(`${origin}${path}`, { headers: { ...PAGE, ...headers } });
  expect(page.status).toBe(200);
  return await page.text();
}

/** The origins of the lines to copy. */
function originsIn(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/(https?:\/\/[^/\s]+)\/v1\/btc\/markets/g)].map((match) => match[1]!));
}

describe.each(['/', '/llms.txt'])('lines to copy from %s', (path) => {
  test.each([
    [{}, undefined],
    [{ host: 'books.example' }, 'http://books.example'],
    [{ host: 'Books.Example:8443' }, 'http://Books.Example:8443'],
    [{ host: '[::1]:8080' }, 'http://[::1]:8080'],
    [{ host: 'books.example', 'x-forwarded-proto': 'https' }, 'https://books.example'],
    [{ host: 'books.example', 'x-forwarded-proto': 'HTTPS, http' }, 'https://books.example'],
    [{ host: 'books.example', 'x-forwarded-proto': 'http' }, 'http://books.example'],
    [{ host: 'books.example', 'x-forwarded-proto': "javascript'&" }, 'http://books.example'],
    [{ host: 'books.example', 'x-forwarded-host': 'evil.example' }, 'http://books.example'],
  ])('Commands have the Host that the client used, with a proxy’s https. (%j, %p)', async (headers, origin) => {
    expect(originsIn(await shown(service.origin, path, headers))).toEqual(new Set([origin ?? service.origin]));
  });

  test.each(["a'b", 'a"b', 'a<b', 'a&b', '$(id)', '`id`', 'a b', 'a/b', 'a@b', 'a;b', 'a\\b', ''])(
    'are never made with the Host %j',
    async (host) => {
      const { status, body } = await exchange(service.origin, requestOf(path, [`Host: ${host}`, 'Accept: text/html']));
      expect(status).toBe(400);
      if (host !== '') expect(body).not.toContain(host);
    },
  );
});

describe('the coins on /', () => {
  test('The page / lists the recorded coins, and its commands request a coin that has order books.', async () => {
    await using recorded = startService();
    const eth = { conditionId: `0x${'ee'.repeat(32)}`, slug: 'eth-1', symbol: 'eth', clobTokenIds: ['8', '9'] };
    // No tier but the largest one grants the coin with books.
    const doge = { conditionId: `0x${'dd'.repeat(32)}`, slug: 'doge-1', symbol: 'doge', clobTokenIds: ['6', '7'] };
    const { conditionId } = doge;
    await importRecords(recorded.archive, [
      sampleMarket(),
      sampleMarket(eth),
      sampleMarket(doge),
      sampleSnapshot({ conditionId }),
    ]);
    const page = await shown(recorded.origin, '/', {});
    const coins = [...page.matchAll(/<span class="badge accent">(\w+)<\/span>/g)].map(([, coin]) => coin);
    expect(coins).toEqual(['BTC', 'DOGE', 'ETH']);
    expect(page).toContain('/v1/doge/markets?recorded=true&amp;limit=1');
    expect(page).toContain('bookreel key create --tier enterprise');
    for (const secret of [conditionId, 'doge-1', 'eth-1']) expect(page).not.toContain(secret);
    const home = (await (await fetch(recorded.origin)).json()) as { coins: unknown };
    expect(home.coins).toEqual(['btc', 'doge', 'eth']);
  });

  test('of an archive without order books come with the steps to import', async () => {
    await using empty = startService();
    const page = await shown(empty.origin, '/', {});
    expect(page).toContain('bookreel import PATH');
    expect(page).not.toContain('curl');
    expect(((await (await fetch(empty.origin)).json()) as { coins: unknown }).coins).toEqual([]);
    await importRecords(empty.archive, [sampleMarket()]);
    expect(await shown(empty.origin, '/', {})).toContain('bookreel import PATH');
    await importRecords(empty.archive, [sampleSnapshot()]);
    const recorded = await shown(empty.origin, '/', {});
    expect(recorded).not.toContain('bookreel import PATH');
    expect(recorded).toContain('curl');
  });

  test('are left out if the database cannot answer, and in a replay', async () => {
    await using broken = startService();
    broken.archive.database.query('ALTER TABLE markets RENAME TO gone').run();
    expect(await shown(broken.origin, '/', {})).not.toContain('Coins:');
    expect(((await (await fetch(broken.origin)).json()) as { coins: unknown }).coins).toBeNull();
    await using replaying = await startReplaying((archive) =>
      importRecords(archive, [sampleMarket(), sampleSnapshot()]),
    );
    expect(((await (await fetch(replaying.origin)).json()) as { coins: unknown }).coins).toBeUndefined();
  });
});
