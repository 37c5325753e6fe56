import { expect, test } from 'bun:test';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { CONDITION_ID, START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { serviceOf } from '../support/service.ts';

const SLUG = 'bitcoin-up-or-down-april-16-7am-et';
const AGAIN = `0x${'cd34'.repeat(16)}`;
const YEAR_MS = 365 * 86_400_000;
const iso = (ms: number) => new Date(ms).toISOString();

/** The slug of an hour names no year: each year has a market of that name. */
function marketOf(conditionId: string, startMs: number) {
  return sampleMarket({
    ...{ conditionId, slug: SLUG, timeframe: '1h', startTime: iso(startMs), endTime: iso(startMs + 3_600_000) },
    ...{ createdAt: iso(startMs - 86_400_000), clobTokenIds: [`${startMs}1`, `${startMs}2`] },
  });
}

async function serviceWith(records: readonly object[]) {
  const held = temporaryArchive();
  expect((await importRecords(held.archive, records)).total.rejected).toBe(0);
  const { get } = serviceOf(held.archive);
  const ask = async (path: string) => {
    const answer = await get(`/btc/markets/${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  return { ask, [Symbol.dispose]: () => held[Symbol.dispose]() };
}

const THEN = [marketOf(CONDITION_ID, START_MS), sampleSnapshot({ timestamp: START_MS + 1000 })];
const LATER = [
  marketOf(AGAIN, START_MS + YEAR_MS),
  sampleSnapshot({ conditionId: AGAIN, timestamp: START_MS + YEAR_MS + 1000 }),
];

test('With asOf, a slug of several markets is the one that was listed last at that instant.', async () => {
  using then = await serviceWith(THEN);
  using later = await serviceWith([...THEN, ...LATER]);
  for (const path of [
    '',
    '/snapshots',
    `/snapshots/at/${START_MS}`,
    '/quotes',
    '/coverage',
    '/heatmap',
    '/export',
    '/stream',
  ]) {
    for (const asOfMs of [START_MS - 1, START_MS + 1000, START_MS + YEAR_MS - 86_400_001]) {
      const known = await then.ask(`${SLUG}${path}?asOf=${asOfMs}`);
      expect(known.status).toBe(200);
      expect(await later.ask(`${SLUG}${path}?asOf=${asOfMs}`)).toEqual(known);
    }
    const again = await later.ask(`${SLUG}${path}?asOf=${START_MS + YEAR_MS + 1000}`);
    expect(again).toEqual(await later.ask(`${AGAIN}${path}?asOf=${START_MS + YEAR_MS + 1000}`));
    expect(again.status).toBe(200);
  }
  expect((await later.ask(`${SLUG}?asOf=${START_MS - 86_400_001}`)).status).toBe(404);
});
