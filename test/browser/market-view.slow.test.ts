import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { issueKey, printed, startServer } from '../support/executable.ts';
import { randomsOf } from '../support/random-books.ts';
import { sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { HAS_CHROMIUM, openPage } from './chromium.ts';
import { compareZooms, complaintsOf, KEEP_FILES, openMarket, servedMarkets } from './market-page.ts';

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

test.skipIf(!HAS_CHROMIUM)(
  'the page of a market says what is recorded of it, and plays no market without books (needs Chromium, test/judges)',
  async () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'markets.ndjson');
    const named = (slug: string, digit: string) =>
      sampleMarket({ slug, conditionId: `0x${digit.repeat(64)}`, clobTokenIds: [`${digit}1`, `${digit}2`] });
    const book = (digit: string, timestamp: string, size: number) =>
      sampleSnapshot({ conditionId: `0x${digit.repeat(64)}`, timestamp, bids: [{ price: 0.5, size }] });
    const records = [
      ...[named('btc-nothing', '1'), named('btc-before', '2'), named('btc-short', '3')],
      ...[book('2', '2026-04-15T07:10:00Z', 1), book('2', '2026-04-15T07:10:30Z', 2)],
      ...[book('3', '2026-04-16T07:11:00Z', 1), book('3', '2026-04-16T07:11:10Z', 2)],
    ];
    writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await using server = await startServer(directory.path, ['--demo']);
    await printed(['import', file, '--data', directory.path]);
    await using watched = await openPage();
    const { page } = watched;
    const seen = async (slug: string) => {
      await openMarket(page, `${server.origin}/view/btc/${slug}`, 'server');
      return await page.evaluate<object>(`({
        recorded: document.querySelector('.market-head .quiet').innerText.split(' · ')[1].split(', read in')[0],
        hasPlay: document.querySelector('.play') !== null,
        instant: document.querySelector('.instant')?.innerText,
      })`);
    };
    expect(await seen('btc-nothing')).toEqual({ recorded: 'no books recorded', hasPlay: false });
    expect(await seen('btc-before')).toEqual({
      recorded: 'recorded 0 s of 300 s: only until 2026-04-15 07:10 UTC, 2 snapshots, no gaps',
      hasPlay: true,
      instant: '07:10:00.000',
    });
    expect(await seen('btc-short')).toEqual({
      recorded: 'recorded 10 s of 300 s, 2 snapshots, no gaps',
      hasPlay: true,
      instant: '07:11:00.000',
    });
    expect(await complaintsOf(watched)).toEqual([]);
  },
);
