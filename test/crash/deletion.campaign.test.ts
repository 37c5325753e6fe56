import { expect, setDefaultTimeout, test } from 'bun:test';
import { sized } from '../support/campaign-size.ts';
import { killDeletions, noDeletions, wholeArchive } from './killed-deletion.ts';

setDefaultTimeout(300_000);

const KILLS = sized(9, 20);

test('After kill -9 each market is whole or gone, and the next deletion finishes.', async () => {
  using whole = await wholeArchive();
  const tally = noDeletions();
  await killDeletions(whole, KILLS, 20_260_416, tally);
  expect(tally).toMatchObject({ kills: KILLS, besideImports: Math.floor(KILLS / 3) });
  expect(tally.interrupted).toBeGreaterThan(0);
  expect(tally.reads).toBeGreaterThan(0);
});
