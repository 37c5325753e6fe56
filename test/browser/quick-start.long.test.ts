import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { EXECUTABLE, type RunningServer, startServer } from '../support/executable.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';

const PAGE = { accept: 'text/html' };

describe('the quick start', () => {
  const directory = temporaryDirectory();
  let server: RunningServer;
  beforeAll(async () => {
    await outputOf(['seed', '--data', directory.path]);
    server = await startServer(directory.path);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test.skipIf(Bun.which('curl') === null)(
    'has three curl lines that work when they are pasted (needs curl)',
    async () => {
      const page = await (await fetch(server.origin, { headers: PAGE })).text();
      const [create, give, first, more, ...others] = blocksOf(page);
      const lines = `${first}\n${more}`;
      expect(others).toEqual([]);
      expect(give).toBe('export BOOKREEL_KEY=br_live_…');
      // The command as it is on the page, with the paths of the executable and of its data.
      expect(create).toStartWith('bookreel key create ');
      const key = shell(`"$BOOKREEL" ${create!.slice('bookreel '.length)} --data "$DATA"`, {
        BOOKREEL: EXECUTABLE,
        DATA: directory.path,
      });
      expect(key).toMatch(/^br_live_\w+\n$/);
      expect(lines.split('\n')).toHaveLength(3);
      expect(lines.match(/\bcurl\b/g)).toHaveLength(3);
      const answers = shell(lines.replaceAll('\n', '\necho\n'), { BOOKREEL_KEY: key.trim() });
      const [markets, named, snapshots] = answers.trim().split('\n');
      const { data } = JSON.parse(markets!) as { data: { slug: string; conditionId: string }[] };
      expect(data).toHaveLength(1);
      // The second line only keeps the market's name, for the third.
      expect(named).toBe('');
      const books = JSON.parse(snapshots!) as { data: { conditionId: string; bids: unknown[] }[]; nextCursor: string };
      expect(books.data.map(({ conditionId }) => conditionId)).toEqual([data[0]!.conditionId, data[0]!.conditionId]);
      expect(books.data.some(({ bids }) => bids.length > 0)).toBe(true);
      expect(books.nextCursor).toBeString();
    },
  );

  test.skipIf(Bun.which('curl') === null)('says with the same lines what a wrong key gets (needs curl)', async () => {
    const [, , first] = blocksOf(await (await fetch(server.origin, { headers: PAGE })).text());
    expect(JSON.parse(shell(first!, { BOOKREEL_KEY: 'br_live_nothing' }))).toMatchObject({ status: 401 });
  });

  test.skipIf(!HAS_CHROMIUM)('is a page that a browser shows as it is (needs Chromium, test/judges)', async () => {
    await using watched = await openPage();
    const { page } = watched;
    await page.goto(server.origin, { waitUntil: 'networkidle' });
    expect(await page.locator('h1').allInnerTexts()).toEqual([expect.stringContaining('Order books')]);
    expect(await page.locator('pre').allInnerTexts()).toEqual([
      ...blocksOf(await (await fetch(server.origin, { headers: PAGE })).text()),
    ]);
    // The one style is in force.
    expect(await page.evaluate<string>('getComputedStyle(document.querySelector("pre")).overflowX')).toBe('auto');
    expect(await watched.refused()).toEqual([]);
    expect(watched.complaints).toEqual([]);
    const [document, ...files] = watched.asked;
    expect(document).toBe(`${server.origin}/`);
    expect(files.filter((url) => !/^\/(?:assets|pictures)\//.test(url.slice(server.origin.length)))).toEqual([]);
  });
});

/** The lines of the page that are there to be copied, as it shows them. */
function blocksOf(page: string): readonly string[] {
  const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'", '#39': "'" };
  return [...page.matchAll(/<pre[^>]*><code[^>]*>([\s\S]*?)<\/code><\/pre>/g)].map(([, content]) =>
    content!.replace(/&([^;]+);/g, (whole, name: string) => entities[name] ?? whole),
  );
}

/** The output of a shell that runs `script`. */
function shell(script: string, env: Readonly<Record<string, string>>): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync(['sh', '-c', script], {
    env: { PATH: process.env.PATH!, ...env },
  });
  if (exitCode !== 0) throw new Error(`the shell ended with ${exitCode}: ${stderr.toString()}`);
  return stdout.toString();
}
