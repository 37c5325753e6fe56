import { afterAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../src/cli/program.ts';
import { ALL_SETTINGS, variableOf } from '../src/config.ts';
import { MARKET_FIELDS } from '../src/domain/market-fields.ts';
import { manualPage } from '../src/http/docs/manual-page.tsx';
import { allCodecs } from '../src/import/codecs.ts';
import { manualInserts } from '../src/import/manual-inserts.ts';
import { FILES, type ManualPage, manualPages, PAGE_NAMES } from '../src/manual/manual.ts';
import { searchManual } from '../src/manual/manual-search.ts';
import { FLAT_COLUMNS } from '../src/record/flat-columns.ts';
import { startReplaying } from './http/replay/replaying.ts';
import { startService } from './http/service.ts';
import { temporaryDirectory } from './support/archive.ts';
import { captured } from './support/captured.ts';
import { HAS_EXECUTABLE, printed } from './support/executable.ts';
import { ROUTES } from './support/routes.ts';

const PAGES = manualPages(manualInserts());
const pageOf = (name: string) => PAGES.find((page) => page.name === name)!;
const textOf = (name: string) => pageOf(name).text;

const service = startService();
afterAll(() => service[Symbol.asyncDispose]());
const get = (path: string, headers: Record<string, string> = {}) => fetch(`${service.origin}${path}`, { headers });
/** Pages that links lead to: each is asked for once, since requests without a key are limited. */
const linked = new Map<string, Promise<{ readonly status: number; readonly found: string }>>();
const pageAt = (path: string) =>
  linked.getOrInsertComputed(path, async () => {
    const target = await get(path, { accept: 'text/html' });
    return { status: target.status, found: await target.text() };
  });

/** The text of a page for a reader at an address: examples for customers have it. */
const shownAt = (origin: string, { audience, text }: ManualPage) =>
  audience === 'operators' ? text : text.replaceAll('http://127.0.0.1:8080', origin);

describe('Every page of the manual has only the script that copies, and shows HTML as text.', () => {
  test.each(PAGES.map((page) => [page.name, page] as const))(
    '%s begins with its title and a sentence that sums it up',
    (_, { title, summary, text }) => {
      expect(text).toStartWith(`# ${title}\n\n${summary}\n\n`);
      expect(title.length).toBeGreaterThan(3);
      expect(summary).toMatch(/^[A-Z].{30,160}\.$/);
      expect(text).not.toContain('{{');
    },
  );

  test.each(['manual', ...PAGE_NAMES])('The executable has the manual as HTML and Markdown. (%s)', async (name) => {
    const markdown = await get(`/docs/${name}.md`);
    expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    const text = await markdown.text();
    if (name !== 'manual') expect(text).toBe(shownAt(service.origin, pageOf(name)));
    const page = await get(`/docs/${name}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const html = await page.text();
    expect(html).toContain(`<title>${/^# (.+)/.exec(text)![1]} · bookreel</title>`);
    // Nothing is asked of another host.
    expect(html.match(/<script[^>]*>/gi)).toEqual([
      expect.stringMatching(/^<script type="module" src="\/assets\/copy-\w+\.js">$/),
    ]);
    expect(html).not.toMatch(/<[^>]*\son\w+=|javascript:/i);
    expect(html.split('data-copy=').length).toBe(
      html.replaceAll('<pre tabindex="0" class="output">', '').split('<pre').length,
    );
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none';.* style-src 'self'/);
    expect(page.headers.get('content-security-policy')).toEndWith(
      "script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
  });

  test.each(['manual', ...PAGE_NAMES])('of %s every link leads somewhere, anchors too', async (name) => {
    const html = await (await get(`/docs/${name}`)).text();
    const links = [...html.matchAll(/ href="([^"]*)"/g)].map(([, href]) => href!);
    expect(links.length).toBeGreaterThan(0);
    for (const link of links.filter((href) => !href.startsWith('data:') && !href.startsWith('https://'))) {
      const { pathname, hash } = new URL(link, `${service.origin}/docs/${name}`);
      const { status, found } = await pageAt(pathname);
      expect({ link, status }).toEqual({ link, status: 200 });
      if (hash !== '') expect({ link, found: found.includes(` id="${hash.slice(1)}"`) }).toEqual({ link, found: true });
    }
  });
});

test('The manual has at most four pictures, of less than 150 kB, and a notebook.', async () => {
  const shown = PAGES.flatMap(({ text }) => [...text.matchAll(/^!\[\w.+\]\((\S+).*\)$/gm)].map(([, name]) => name!));
  const names = Object.keys(FILES);
  expect(shown.toSorted()).toEqual(names.filter((name) => !name.endsWith('.ipynb')));
  expect(shown.length).toBeLessThan(5);
  const html = (await Promise.all(PAGE_NAMES.map(async (name) => (await get(`/docs/${name}`)).text()))).join('');
  expect([...html.matchAll(/<img src="\/docs\/([^"]+)"/g)].map(([, name]) => name!).toSorted()).toEqual(
    shown.toSorted(),
  );
  const kinds = {
    png: ['image/png', '\x89PNG\r\n\x1a\n'],
    svg: ['image/svg+xml', '<?xml'],
    ipynb: ['application/x-ipynb+json', '{'],
  } as const;
  for (const name of names) {
    const answer = await get(`/docs/${name}`);
    const [type, opening] = kinds[name.split('.').at(-1) as keyof typeof kinds];
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
    const bytes = await answer.bytes();
    expect(Buffer.from(bytes).toString('latin1')).toStartWith(opening);
    expect(bytes.length).toBeLessThan(150_000);
  }
});

test('Examples of the manual have the address by which the reader came, on a server and on a replay.', async () => {
  const headers = { host: 'books.example', 'x-forwarded-proto': 'https' };
  for (const page of ['interface', 'interface.md']) {
    const text = await (await get(`/docs/${page}`, headers)).text();
    expect(text).toContain('https://books.example/v1/btc/markets?limit=2');
    expect(text).not.toMatch(/localhost|127\.0\.0\.1/);
  }
  await using replay = await startReplaying(async () => {});
  const text = await (await replay.ask('GET', '/docs/replay.md', undefined, { host: 'localhost:9000' })).text();
  expect(text).toContain('`ws://localhost:9000/ws/market`');
  expect(text).not.toContain('127.0.0.1:8000');
});

test('A command of the manual is broken with a backslash before a browser would break it.', () => {
  const lines = PAGES.flatMap(({ name, text }) =>
    [...text.matchAll(/^ *```sh\n(.*?)```$/gms)].flatMap(([, block]) =>
      block!.split('\n').map((line) => `${name}: ${line}`),
    ),
  );
  expect(lines.length).toBeGreaterThan(200);
  // So many characters are beside the button that copies.
  expect(lines.filter((line) => line.length - line.indexOf(': ') - 2 > 69)).toEqual([]);
});

test('A result of a search has a line of its section, not the heading again.', () => {
  for (const search of ['gap', 'recording', 'replay', 'limits']) {
    for (const { page, heading, line } of searchManual(PAGES, search)) {
      expect({ page: page.name, heading, line }).not.toMatchObject({ line: heading });
      expect(line).not.toBe('');
    }
  }
});

test('A search of the manual finds every section that has all words, and repeats none of them in Markdown.', async () => {
  const words = (text: string) => text.replaceAll(/[`|*\\]/g, '').toLowerCase();
  for (const search of ['caddy', 'RATE limit', '<ADDRESS>', 'x-forwarded-for', 'nothinghasthis']) {
    const found = searchManual(PAGES, search).map(({ page, heading }) => `${page.name} ${heading}`);
    expect(found.length > 0).toBe(search !== 'nothinghasthis');
    const html = await (await get(`/docs/manual?search=${encodeURIComponent(search)}`)).text();
    expect(html.match(/<li>/g)?.length ?? 0).toBe(found.length);
    const pages = PAGES.filter(({ text }) =>
      search.split(' ').every((word) => words(text).includes(word.toLowerCase())),
    );
    if (!search.includes(' '))
      expect([...new Set(found.map((one) => one.split(' ')[0]!))]).toEqual(pages.map(({ name }) => name));
  }
  const hostile = '[x](//evil.example)<b>"';
  expect(await (await get(`/docs/manual.md?search=${encodeURIComponent(hostile)}`)).text()).not.toContain('evil');
  const html = await (await get(`/docs/manual?search=${encodeURIComponent(hostile)}`)).text();
  expect(html).toContain('value="[x](//evil.example)&lt;b>&quot;"');
  expect(manualPage('x', '', '<b>text</b>', false)).toContain('&lt;b&gt;text&lt;/b&gt;');
  const results = await (await get('/docs/manual?search=rate')).text();
  const sections = searchManual(PAGES, 'rate');
  const found = [...new Set(sections.map(({ page }) => page.name))];
  // The results are counted, and listed by page; the words are marked in texts only.
  expect(results).toContain(`${sections.length} sections of ${found.length} pages with this text.`);
  expect([...results.matchAll(/<h2[^>]*><a href="\/docs\/([a-z-]+)">/g)].map(([, name]) => name!)).toEqual(found);
  const article = /<article.*<\/article>/s.exec(results)![0];
  const texts = (html: string) => html.split(/<[^>]*>/).join('\0');
  expect(article.match(/<mark>rate<\/mark>/gi)).toHaveLength(texts(article).match(/rate/gi)!.length);
  const entities = await (await get('/docs/manual?search=amp')).text();
  expect(entities.match(/&(?![a-z#0-9]+;)/g)).toBeNull();
  for (const [, path, anchor] of results.matchAll(/<li><a href="([^"#]+)#([^"]+)"/g))
    expect(await (await get(path!)).text()).toContain(` id="${anchor}"`);
});

test('A long page of the manual begins with links to all its parts, which exist; the list of pages has none.', async () => {
  for (const { name, text } of PAGES) {
    const html = await (await get(`/docs/${name}`)).text();
    const [, list = ''] = /<nav class="parts"[^>]*>(.*?)<\/nav>/s.exec(html) ?? [];
    const anchors = [...list.matchAll(/href="#([^"]+)"/g)].map(([, anchor]) => anchor!);
    const outside = text.replaceAll(/^(`{3,}).*?^\1/gms, '');
    const headings = [...outside.matchAll(/^#{2,3} /gm)].length;
    expect({ name, parts: anchors.length }).toEqual({ name, parts: headings < 3 ? 0 : headings });
    for (const anchor of anchors) expect(html).toContain(` id="${anchor}"`);
    expect(new Set(anchors).size).toBe(anchors.length);
  }
  expect(await (await get('/docs/manual')).text()).not.toContain('class="parts"');
});

test('The manual begins with a first request, and its pages for customers and for operators are two lists.', async () => {
  const html = await (await get('/docs/manual')).text();
  const [, , customers, operators] = html.split('<article')[1]!.split('<h2');
  expect(html).toContain(`${service.origin}/v1/btc/markets?recorded=true&amp;limit=1`);
  // Each page is listed once: there is no menu beside the list.
  expect(html).not.toContain('class="menus"');
  for (const { name, audience } of PAGES) {
    expect(customers!.includes(`href="/docs/${name}"`)).toBe(audience === 'customers');
    expect(operators!.includes(`href="/docs/${name}"`)).toBe(audience === 'operators');
  }
});

test('a page that does not exist is a 404 that names the list of pages', async () => {
  for (const path of ['/docs/nothing', '/docs/nothing.md', '/docs/Replay', '/docs/replay.md.md', '/docs/__proto__']) {
    const answer = await get(path);
    expect({ path, status: answer.status }).toEqual({ path, status: 404 });
    expect(((await answer.json()) as { detail: string }).detail).toContain('/docs/manual');
  }
});

test('the list of pages has every page, and so have the quick start and llms.txt', async () => {
  const index = await (await get('/docs/manual')).text();
  for (const { name, title } of PAGES) expect(index).toContain(`<a href="/docs/${name}">${title}</a>`);
  expect(await (await get('/', { accept: 'text/html' })).text()).toContain('href="/docs/manual"');
  const llms = await (await get('/llms.txt')).text();
  for (const { name, title, summary } of PAGES)
    expect(llms).toContain(`- [${title}](${service.origin}/docs/${name}.md): ${summary}\n`);
});

test('The table of formats in the manual is generated from the codecs.', () => {
  const rows = textOf('recordings')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  for (const { format, input, becomes } of allCodecs()) {
    expect({ format, input: input.length > 5, becomes: becomes.length > 5 }).toEqual({
      format,
      input: true,
      becomes: true,
    });
    expect(rows).toContain(`| ${format} | ${input} | ${becomes} |`);
  }
});

test('the page on recordings names every column of the flat table', () => {
  const ofMarkets = new Set<string>(MARKET_FIELDS.map(({ name }) => name));
  for (const { name } of FLAT_COLUMNS) if (!ofMarkets.has(name)) expect(textOf('recordings')).toContain(`\`${name}\``);
});

test('the table of settings has every setting with its variable and default', () => {
  const page = textOf('configuration');
  for (const [name, { flag, fallback }] of ALL_SETTINGS) {
    expect(page).toContain(`| \`${flag}\` | \`${variableOf(name)}\` | \`${fallback}\` |`);
  }
});

test('the configuration file that the page shows is accepted, with the value of every line', async () => {
  const shown = textOf('configuration').split('```toml\n')[1]!.split('```')[0]!;
  using directory = temporaryDirectory();
  const path = join(directory.path, 'bookreel.toml');
  writeFileSync(path, shown);
  const terminal = captured();
  expect(await run(['config', 'show', '--config', path, '--json'], terminal)).toBe(0);
  const rows = JSON.parse(terminal.stdout()) as { setting: string; value: string; origin: string }[];
  const ofFile = rows.filter(({ origin }) => origin === 'file').map(({ setting }) => setting);
  const keys = [...shown.matchAll(/^([a-z-]+) = /gm)].map(([, key]) => key!);
  expect(ofFile.toSorted()).toEqual(keys.toSorted());
  expect(keys.length).toBeGreaterThan(5);
  expect(rows.find(({ setting }) => setting === 'trusted-proxies')!.value).toBe('loopback,10.0.0.0/8');
});

test('the tables of paths have every path with its route and parameters', () => {
  const rows = textOf('interface').split('\n');
  for (const { path, grant, query } of Object.values(ROUTES)) {
    // The script of the reference.
    if (path.endsWith('.js')) continue;
    const row = rows.find((line) => line.startsWith('| `') && line.includes(`\`${path}\``));
    expect({ path, row }).toEqual({ path, row: expect.any(String) });
    if (grant !== undefined) expect(row).toContain(`| ${grant} |`);
    const named = query.every((parameter) => row!.includes(`\`${parameter}\``));
    expect({ path, described: named || row!.includes('as snapshots') }).toEqual({ path, described: true });
  }
});

describe.skipIf(!HAS_EXECUTABLE)('bookreel manual (needs make build)', () => {
  test('lists every page with its summary', async () => {
    const lines = (await printed(['manual'])).trim().split('\n').slice(1);
    expect(lines.map((line) => /^(\S+) +(\S+) +(.+)$/.exec(line)!.slice(1))).toEqual(
      PAGES.map((page) => [page.name, page.audience, page.summary]),
    );
    expect(JSON.parse(await printed(['manual', '--json']))).toEqual(PAGES.map(({ text: _, ...page }) => page));
  });

  test('lists the sections that a search finds', async () => {
    const [section] = searchManual(PAGES, 'grafana dashboard');
    expect(await printed(['manual', '--search', 'grafana dashboard'])).toContain(section!.line);
    const found = JSON.parse(await printed(['manual', 'public', '--search', 'caddy', '--json'])) as { page: string }[];
    expect(found.length).toBeGreaterThan(1);
    expect(new Set(found.map(({ page }) => page))).toEqual(new Set(['public']));
  });

  test('prints a page with the addresses of the examples', async () => {
    for (const page of PAGES) expect(await printed(['manual', page.name])).toBe(page.text);
    expect(JSON.parse(await printed(['manual', 'limits', '--json']))).toEqual(
      PAGES.find(({ name }) => name === 'limits'),
    );
  });
});

test('the error that the page on the interface shows is the one that is sent', async () => {
  const shown = textOf('interface').split('```json\n').at(-1)!.split('```')[0]!;
  const sent = await get('/v1/btc/markets?limit=0', { authorization: `Bearer ${service.key}` });
  expect({ ...((await sent.json()) as object), requestId: '' }).toEqual({ ...JSON.parse(shown), requestId: '' });
});

test('the table of parameters has every query parameter', () => {
  const page = textOf('interface');
  const described = new Set(
    [...page.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| /gm)].flatMap(([, names]) => names!.match(/\w+/g)!),
  );
  for (const { query } of Object.values(ROUTES)) for (const name of query) expect([...described]).toContain(name);
});

test('A quotation of the manual that begins with a line in bold is folded under it, and a picture has its text as a caption.', () => {
  const html = manualPage(
    'x',
    '',
    '# X\n\n> **When**\n>\n> Text.\n\n> Said.\n\n![The keys](a.png "All of them.")\n',
    false,
  );
  expect(html).toContain('<summary>When</summary>\n<p>Text.</p>\n</details>');
  expect(html).toContain('<blockquote>\n<p>Said.</p>');
  expect(html).toMatch(
    /<p><a href="\/docs\/a\.png"><img src="\/docs\/a\.png" alt="The keys"[^>]*><\/a><span class="quiet small">All of them\.<\/span><\/p>/,
  );
});

test('Comments and quoted texts in the code of the manual have a look of their own, and its text stays the same.', () => {
  const lines = [
    '# First --flag of all',
    'curl "$URL/a" \'b <c>\' # then',
    'x # y',
    '{"t":"2026-01-08T10:31:40Z","say":"\\"a\\""}',
    'https://x.example // z',
    'curl -H "A: b" \\',
    '  "$URL/a" \\',
    '  --flag',
  ];
  const html = manualPage('x', '', `# X\n\n\`\`\`sh\n${lines.join('\n')}\n\`\`\`\n`, false);
  const [, code = ''] = /<code id="code-1"[^>]*>(.*?)<\/code>/s.exec(html)!;
  const looks = [...code.matchAll(/<i class="(\w+)">(.*?)<\/i>/g)];
  expect(looks.map(([, look, text]) => [look, text!.replaceAll(/<.*?>/g, '')])).toEqual([
    ['quiet', '# First --flag of all'],
    ['text', '&quot;$URL/a&quot;'],
    ['text', "'b &lt;c&gt;'"],
    ['quiet', '# then'],
    ['quiet', '# y'],
    ...['t', '2026-01-08T10:31:40Z', 'say', '\\&quot;a\\&quot;'].map((text) => [
      /^(?:t|say)$/.test(text) ? 'name' : 'text',
      `&quot;${text}&quot;`,
    ]),
    ['quiet', '// z'],
    ['text', '&quot;A: b&quot;'],
    // The first quotation mark is an element with the spaces before it.
    ...['&quot;', '$URL/a&quot;'].map((text) => ['text', text]),
  ]);
  const text = code
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>');
  expect(text.trim()).toBe(lines.join('\n'));
});

test('What a command prints has a look of its own in the manual, without a button that copies it.', () => {
  const block = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n\n`;
  const html = manualPage(
    'x',
    '',
    `# X\n\n${block('sh', 'run')}${block('text', "from 'a'")}Then:\n\n${block('text', 'next')}`,
    false,
  );
  expect(html).toContain(`<pre tabindex="0" class="output"><code class="language-text">from 'a'\n</code></pre>`);
  expect([...html.matchAll(/data-copy="#(code-\d)"/g)].map(([, id]) => id)).toEqual(['code-1', 'code-2']);
  expect(html).toContain('<code id="code-2" class="language-text">next');
});

test('A result of a search begins with the sentence that has the word, or says that it does not.', () => {
  const { audience, name, title, summary } = PAGES[0]!;
  const lineOf = (text: string) =>
    searchManual([{ audience, name, title, summary, text: `# T\n\n## Part\n\n${text}\n` }], 'Word')[0]!.line;
  expect(lineOf('One sentence that\ngoes on. Another has the\nword. A third.')).toBe('Another has the word. A third.');
  expect(lineOf('- An item that\n  has the word.')).toBe('An item that has the word.');
  const long = lineOf(`${'many '.repeat(80)}word ${'more '.repeat(80)}`);
  expect(long).toMatch(/^… many .* word .* more …$/);
  expect(long.length).toBeLessThan(205);
  for (const { line } of searchManual(PAGES, 'refund')) expect(line).not.toMatch(/^[a-z]/);
});
