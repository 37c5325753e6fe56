import { expect, test } from 'bun:test';
import { createKey } from '../../src/account/account-keys.ts';
import { openArchive } from '../../src/store/archive.ts';
import { Deletion } from '../../src/store/deletion.ts';
import { Sealing } from '../../src/store/sealing.ts';
import { importRecords, NOW_MS } from '../support/archive.ts';
import { randomsOf } from '../support/random-books.ts';
import { START_MS, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { startService } from './service.ts';

const MARKETS = 24;
const SNAPSHOTS = 60;
const idOf = (n: number) => `0x${(n + 1).toString(16).padStart(64, '0')}`;

interface Page {
  readonly data: readonly { readonly id?: string; readonly conditionId: string }[];
  readonly nextCursor: string | null;
}

const recording = Array.from({ length: MARKETS }, (_, n) => {
  const [startMs, conditionId] = [START_MS + n * 300_000, idOf(n)];
  const [startTime, endTime] = [startMs, startMs + 300_000].map((ms) => new Date(ms).toISOString());
  return [
    sampleMarket({ conditionId, slug: `m-${n}`, clobTokenIds: [`${n}1`, `${n}2`], winner: 'up', startTime, endTime }),
    ...Array.from({ length: SNAPSHOTS }, (__, i) =>
      sampleSnapshot({ conditionId, timestamp: startMs + i * 1000, bids: [{ price: 0.4, size: i + 1 }] }),
    ),
  ];
}).flat();

test('Pages walked over HTTP lose and repeat nothing while markets are sealed, brought back and deleted under them.', async () => {
  for (let seed = 1; seed <= 3; seed += 1) {
    const random = randomsOf(seed);
    await using service = startService();
    const { origin, archive } = service;
    const request = { account: 'test@localhost', name: undefined, tier: 'enterprise', requestsPerMinute: 1_000_000 };
    const headers = { authorization: `Bearer ${createKey(service.registry, NOW_MS, request).key}` };
    await importRecords(archive, recording);
    // Another process would have a connection of its own too.
    const other = openArchive(archive.database.path.replace(/\/[^/]+$/, ''), NOW_MS, { create: false });
    const walked = idOf(5);
    let late = 0;
    /** Below 0.7 nothing is deleted. */
    const disturb = async (below = 1) => {
      const victim = idOf(Math.floor(random() * MARKETS));
      const market = other.markets.findByConditionId(victim);
      const walkedMarket = other.markets.findByConditionId(walked)!;
      const chosen = random() * below;
      if (chosen < 0.4) new Sealing(other).seal(random() < 0.5 ? walkedMarket : (market ?? walkedMarket));
      else if (chosen < 0.7) {
        late += 1;
        const { conditionId, startMs } = random() < 0.5 ? walkedMarket : (market ?? walkedMarket);
        const timestamp = startMs + Math.floor(random() * SNAPSHOTS) * 1000;
        await importRecords(other, [sampleSnapshot({ conditionId, timestamp, bids: [{ price: 0.3, size: late }] })]);
      } else if (market !== undefined && victim !== walked) {
        for (const _ of new Deletion(other, { ...ANYTHING, marketKeys: [market.key] }).run());
      }
    };
    const walk = async (path: string, limit: number) => {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const response = await fetch(`${origin}/v1/btc/${path}?limit=${limit}${query}`, { headers });
        if (response.status !== 200) throw new Error(`${path}: ${await response.text()}`);
        const page = (await response.json()) as Page;
        seen.push(...page.data.map(({ id }) => id!));
        cursor = page.nextCursor;
        await disturb();
      }
      expect(new Set(seen).size).toBe(seen.length);
      return seen;
    };
    const idsNow = async () => await walkQuietly(`markets/${walked}/snapshots`);
    const walkQuietly = async (path: string) => {
      const response = await fetch(`${origin}/v1/btc/${path}?limit=1000`, { headers });
      return ((await response.json()) as Page).data.map(({ id }) => id!);
    };
    new Sealing(other).seal(other.markets.findByConditionId(walked)!);
    for (let round = 0; round < 3; round += 1) {
      const before = await idsNow();
      const seen = await walk(`markets/${walked}/snapshots`, 7);
      const known = new Set(before);
      // Late records are seen or not, by where they are.
      expect(seen.filter((id) => known.has(id))).toEqual(before);
      // Lists are walked by numbers: a deletion moves what comes after it, sealing does not.
      const left = Array.from({ length: MARKETS }, (_, n) => idOf(n)).filter(
        (id) => other.markets.findByConditionId(id) !== undefined,
      );
      const listed: string[] = [];
      for (let skip = 0; skip < left.length; skip += 4) {
        const response = await fetch(`${origin}/v1/btc/markets?limit=4&skip=${skip}`, { headers });
        listed.push(...((await response.json()) as Page).data.map(({ conditionId }) => conditionId));
        await disturb(0.7);
      }
      expect(listed).toEqual(left.toReversed());
    }
    other.database.close();
  }
});

const ANYTHING = { marketKeys: undefined, coins: undefined, sources: undefined, beforeMs: undefined };
