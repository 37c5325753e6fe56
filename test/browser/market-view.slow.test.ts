import { expect, test } from 'bun:test';
import { temporaryDirectory } from '../support/archive.ts';
import { issueKey, startServer } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';
import { compareZooms, complaintsOf, KEEP_FILES, servedMarkets } from './market-page.ts';

test.skipIf(!HAS_CHROMIUM)(
  'the page of a market has and draws the heat map of all its snapshots, and the ladder before an instant (needs Chromium, test/judges)',
  async () => {
    using directory = temporaryDirectory();
    await using server = await startServer(directory.path, ['--demo']);
    const { key } = await issueKey(directory.path);
    const market = (await servedMarkets(server.origin, key)).find(({ symbol, timeframe }) => {
      return symbol === 'btc' && timeframe === '5m';
    });
    await using watched = await openPage();
    await watched.page.addInitScript({ content: KEEP_FILES });
    const compared = await compareZooms(watched.page, market!, { zooms: 1, source: 'worker', random: randomsOf(11) });
    expect(compared).toBeGreaterThan(50);
    expect(await complaintsOf(watched)).toEqual([]);
    expect(watched.asked.filter((asked) => !/^(?:blob:)?http:\/\/127\.0\.0\.1/.test(asked))).toEqual([]);
  },
);
