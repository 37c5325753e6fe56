import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { HAS_CHROMIUM, openPage } from '../browser/chromium.ts';
import { openInProcess } from '../contract/in-process-target.ts';
import { expectedSnapshots } from '../contract/oracle.ts';
import { BOOKS, RECORDS } from '../contract/recording.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { installClient } from './installed-client.ts';

const PAGE = `<!doctype html>
<link rel="icon" href="data:,">
<script type="importmap">{ "imports": { "@bookreel/client": "/client/index.js" } }</script>
<p id="read"></p>
<script type="module">
  import { Client } from '@bookreel/client';
  const client = new Client({ key: decodeURIComponent(location.hash.slice(1)) });
  const paged = await Array.fromAsync(client.snapshots('btc/${BOOKS.slug}'));
  const stored = await Array.fromAsync(client.segmentSnapshots('btc/${BOOKS.slug}'));
  document.querySelector('#read').textContent =
    paged.length + ' snapshots, ' + (JSON.stringify(paged) === JSON.stringify(stored) ? 'the same' : 'others') + ' in segments';
</script>`;

describe.skipIf(!HAS_CHROMIUM || Bun.which('npm') === null)('In Chromium (needs npm, Chromium, test/judges)', () => {
  test('a page of the service’s own host reads snapshots and segments with the package', async () => {
    using directory = temporaryDirectory();
    await installClient(directory.path);
    await using target = await openInProcess(RECORDS);
    const { key } = await target.makeKey('enterprise');
    await using server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        if (pathname === '/') return new Response(PAGE, { headers: { 'content-type': 'text/html; charset=utf-8' } });
        if (!pathname.startsWith('/client/')) {
          return await fetch(`${target.origin}${pathname}${search}`, { headers: request.headers, decompress: false });
        }
        return new Response(Bun.file(join(directory.path, 'node_modules/@bookreel', pathname)));
      },
    });
    await using watched = await openPage();
    await watched.page.goto(`http://127.0.0.1:${server.port}/#${key}`);
    await watched.page.getByText('in segments').waitFor();
    const [read] = await watched.page.locator('#read').allInnerTexts();
    expect(read).toBe(`${expectedSnapshots(BOOKS).length} snapshots, the same in segments`);
    expect(watched.complaints).toEqual([]);
  });
});
