import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { issueKey, type RunningServer, startServer } from '../support/executable.ts';
import { ROUTES } from '../support/routes.ts';
import { HAS_CHROMIUM, openPage, type Page, type WatchedPage } from './chromium.ts';

const DRAWING_MS = 50;

interface Described {
  readonly paths: Readonly<Record<string, { readonly get: { readonly summary: string } }>>;
}

describe.skipIf(!HAS_CHROMIUM)('the API reference in a browser without a network (needs Chromium, test/judges)', () => {
  const directory = temporaryDirectory();
  let server: RunningServer;
  let key: string;
  beforeAll(async () => {
    server = await startServer(directory.path, ['--demo']);
    ({ key } = await issueKey(directory.path, 'pro'));
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const open = async (): Promise<WatchedPage> => {
    const watched = await openPage();
    await watched.page.goto(`${server.origin}${ROUTES.docs!.path}`, { waitUntil: 'networkidle' });
    return watched;
  };

  /** The text that is seen, once it has all of `words`: a page goes on drawing when it has everything. */
  const textWith = async (page: Page, words: readonly string[]): Promise<string> => {
    for (;;) {
      const shown = (await page.locator('body').allInnerTexts()).join('\n');
      if (words.every((word) => shown.includes(word))) return shown;
      await Bun.sleep(DRAWING_MS);
    }
  };

  /** That nothing was refused, nothing complained of, and no host asked but the server. */
  const expectQuiet = async ({ refused, complaints, asked }: WatchedPage) => {
    expect(await refused()).toEqual([]);
    expect(complaints).toEqual([]);
    const hosts = new Set(asked.filter((url) => !/^(?:data|blob|about):/.test(url)).map((url) => new URL(url).origin));
    expect([...hosts]).toEqual([server.origin]);
  };

  test('The pages load nothing from other hosts: scripts are files of this one, and styles need a nonce or a hash.', async () => {
    await using watched = await open();
    const { page } = watched;
    const { paths } = (await (await fetch(`${server.origin}${ROUTES.openapi!.path}`)).json()) as Described;
    const shown = await textWith(
      page,
      Object.values(paths).flatMap((methods) => Object.values(methods).map(({ summary }) => summary)),
    );
    expect(shown).toContain('/v1/{coin}/markets');
    // Its own style is in force: without it the page would be there, and unreadable.
    expect(await page.evaluate<string>('getComputedStyle(document.body).margin')).toBe('0px');
    expect(await page.evaluate<number>('document.querySelectorAll("style").length')).toBeGreaterThan(2);
    const unread =
      '[...document.querySelectorAll("style")].filter(({ sheet, textContent }) => textContent && !sheet).length';
    expect(await page.evaluate<number>(unread)).toBe(0);
    await expectQuiet(watched);
  });

  test('The reference has the colours of the other pages, and the whole first command in view.', async () => {
    await using watched = await open();
    const { page } = watched;
    await textWith(page, ['A first request']);
    const seen = await page.evaluate<object>(`(() => {
      const code = document.querySelector('pre code').parentElement;
      const colour = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();
      return { isCut: code.scrollWidth > code.clientWidth + 1, isOwn: colour('--scalar-color-accent') === colour('--accent') };
    })()`);
    expect(seen).toEqual({ isCut: false, isOwn: true });
  });

  test('sends requests with the key that is typed in, and shows the answers', async () => {
    await using watched = await open();
    const { page } = watched;
    await enterKey(page, key);
    const markets = await send(page, 'Markets of a coin', ROUTES.markets!.path);
    expect(markets.status).toBe(200);
    await page.getByText('200 OK').first().waitFor();
    // The reference sends a value for every filter, and no simulated market fits all of them.
    await page.getByText('hasMore').first().waitFor();
    await page.press('body', 'Escape');
    // As it stands there: with the document's example of a market, which is one of those simulated.
    const snapshots = await send(page, 'Order book snapshots of a market', ROUTES.snapshots!.path);
    expect(snapshots.status).toBe(200);
    const books = JSON.parse(snapshots.text) as { data: { assetId: string }[] };
    await page.getByText(books.data[0]!.assetId).first().waitFor();
    await expectQuiet(watched);
  });

  test('shows why a request with a wrong key is refused', async () => {
    await using watched = await open();
    const { page } = watched;
    await enterKey(page, `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`);
    const { status, text } = await send(page, 'Markets of a coin', ROUTES.markets!.path);
    expect(status).toBe(401);
    await page
      .getByText((JSON.parse(text) as { detail: string }).detail)
      .first()
      .waitFor();
    // A browser calls every answer of 4xx an error of the page.
    expect(watched.complaints).toEqual([expect.stringContaining('status of 401')]);
  });

  test('The reference requests JSON where a route has several types, and forgets the key when the page is closed.', async () => {
    await using watched = await open();
    const { page } = watched;
    await enterKey(page, key);
    expect(await send(page, 'Markets of a coin', ROUTES.markets!.path)).toMatchObject({ status: 200 });
    const stored = await page.evaluate<string>(`(async () => JSON.stringify([
      location.href, document.cookie, { ...localStorage }, { ...sessionStorage }, await indexedDB.databases(), history.state,
    ]))()`);
    expect(stored).toContain(ROUTES.docs!.path);
    expect(stored).not.toContain(key);
    expect(watched.asked.filter((url) => url.includes(key))).toEqual([]);
    await page.goto(`${server.origin}${ROUTES.docs!.path}`, { waitUntil: 'networkidle' });
    const fields = '[...document.querySelectorAll("input")].map(({ value }) => value).join()';
    expect(await page.evaluate<string>(fields)).not.toContain(key);
  });

  describe('refuses', () => {
    let watched: WatchedPage;
    beforeAll(async () => {
      watched = await open();
    });
    afterAll(async () => {
      await watched[Symbol.asyncDispose]();
    });

    test.each([
      ['a script in the markup', 'script-src-elem inline', append('script', 'textContent', 'globalThis.ran = true')],
      [
        'a handler in the markup',
        'script-src-attr inline',
        `document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="ran = true">')`,
      ],
      ['text made into a script', 'script-src eval', 'setTimeout("globalThis.ran = true")'],
      [
        'a script of another host',
        'script-src-elem https://foreign.example/x.js',
        append('script', 'src', 'https://foreign.example/x.js'),
      ],
      [
        'a style in the markup',
        'style-src-elem inline',
        `document.body.insertAdjacentHTML('beforeend', '<style>body { margin: 7px }</style>')`,
      ],
      [
        'a style sheet of another host',
        'style-src-elem https://foreign.example/x.css',
        `document.body.insertAdjacentHTML('beforeend', '<link rel="stylesheet" href="https://foreign.example/x.css">')`,
      ],
      [
        'an image of another host',
        'img-src https://foreign.example/x.png',
        append('img', 'src', 'https://foreign.example/x.png'),
      ],
      [
        'a request to another host',
        'connect-src https://foreign.example/',
        `fetch('https://foreign.example/').catch(() => undefined)`,
      ],
      ['a frame', 'frame-src https://foreign.example', append('iframe', 'src', 'https://foreign.example')],
    ])('%s', async (_, refusal, attempt) => {
      const { page, refused, asked, prevented } = watched;
      await page.evaluate(`void (() => { ${attempt} })()`);
      expect(await refused(1)).toEqual([refusal]);
      expect(await page.evaluate<unknown>('globalThis.ran ?? getComputedStyle(document.body).margin')).toBe('0px');
      expect(asked.filter((url) => url.includes('foreign'))).toEqual([...prevented]);
    });
  });
});

/** Makes an element in the page, as a script would, and puts it in. */
function append(tag: string, property: string, value: string): string {
  return `((element) => { element.${property} = ${JSON.stringify(value)}; document.body.append(element); })(document.createElement('${tag}'))`;
}

async function enterKey(page: Page, key: string): Promise<void> {
  await page.getByPlaceholder('Token').first().fill(key);
}

/** Chooses an operation by its summary, opens its form and presses Send; what the service answered. */
async function send(
  page: Page,
  summary: string,
  path: string,
): Promise<{ readonly status: number; readonly text: string }> {
  await page.getByText(summary).first().click();
  const operation = path.replace(/[{}]/g, '\\$&');
  await page
    .getByRole('button', { name: new RegExp(`^Test Request.*\\(get ${operation}\\)`) })
    .first()
    .click();
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname.startsWith('/v1/'));
  await page.getByRole('button', { name: /^Send/ }).first().click();
  const response = await answered;
  return { status: response.status(), text: await response.text() };
}
