import { expect, test } from 'bun:test';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Archive } from '../../src/store/archive.ts';
import { BOOKS } from '../../src/store/sealed-files.ts';
import { Upkeep, type UpkeepOptions } from '../../src/store/upkeep.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { sampleCoinPrice, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';
import { damageBooks, sealAll, sealedMarkets } from '../support/sealed.ts';

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
const DAY = Date.UTC(2026, 3, 16);
/** A round takes many turns on a busy machine. */
const TURNS = 200;

const at = (ms: number) => new Date(ms).toISOString();
const idOf = (n: number) => `0x${n}`;
/** Market n begins n days after the first one, at noon. */
const startOf = (n: number) => DAY + n * DAY_MS + DAY_MS / 2;

function linesOf(n: number, winner: 'up' | undefined = 'up'): object[] {
  const startMs = startOf(n);
  const times = { startTime: at(startMs), endTime: at(startMs + 5 * MINUTE_MS) };
  return [
    sampleMarket({ conditionId: idOf(n), slug: `m-${n}`, winner, ...times }),
    sampleSnapshot({ conditionId: idOf(n), timestamp: at(startMs + MINUTE_MS) }),
  ];
}

const namesOf = (archive: Archive) =>
  archive.database.read(() => {
    const found: string[] = [];
    for (let market = archive.markets.afterKey(-1); market !== undefined; market = archive.markets.afterKey(market.key))
      found.push(market.slug);
    return found;
  });
const sealedIn = (archive: Archive) => sealedMarkets(archive).map(({ path }) => path.split(/[/-]/)[3]);

/** An archive of these records with its upkeep, whose clock tests set. */
async function keptUp(lines: readonly object[], options: Partial<UpkeepOptions> = {}) {
  const place = temporaryArchive();
  await importRecords(place.archive, lines);
  const log: string[] = [];
  let nowMs = 0;
  const upkeep = new Upkeep(place.archive, {
    sealMs: undefined,
    keepMs: undefined,
    clock: () => nowMs,
    monotonicMs: () => performance.now(),
    hasRoom: () => true,
    onDeleted: ({ markets, coinPrices }, beforeMs) =>
      void log.push(`${markets} and ${coinPrices} before ${at(beforeMs)}`),
    warn: (line) => void log.push(line),
    ...options,
  });
  const turnAt = (atMs: number) => {
    nowMs = atMs;
    upkeep.turn();
  };
  const round = (atMs: number) => {
    for (let turn = 0; turn < TURNS; turn += 1) turnAt(atMs);
  };
  return { ...place, log, upkeep, turnAt, round, [Symbol.dispose]: () => place[Symbol.dispose]() };
}

test('Markets that are over are sealed in the second round after that, unless they have changed since the first.', async () => {
  using kept = await keptUp(
    [1, 2, 3].flatMap((n) => linesOf(n)),
    { sealMs: 2 * DAY_MS },
  );
  const { archive, round } = kept;
  // Two days after the end of the second market.
  const nowMs = startOf(4) + 5 * MINUTE_MS;
  round(nowMs);
  expect(sealedIn(archive)).toEqual([]);
  // Not yet the time of the next round.
  round(nowMs + 9 * MINUTE_MS);
  expect(sealedIn(archive)).toEqual([]);
  await importRecords(archive, [sampleSnapshot({ conditionId: idOf(2), timestamp: at(startOf(2) + 2 * MINUTE_MS) })]);
  round(nowMs + 10 * MINUTE_MS);
  expect(sealedIn(archive)).toEqual([idOf(1)]);
  round(nowMs + 20 * MINUTE_MS);
  expect(sealedIn(archive)).toEqual([idOf(1), idOf(2)]);
  // The third ended less than two days ago.
  round(nowMs + 30 * MINUTE_MS);
  round(nowMs + DAY_MS);
  round(nowMs + DAY_MS + 10 * MINUTE_MS);
  expect(sealedIn(archive)).toEqual([1, 2, 3].map(idOf));
  expect(kept.log).toEqual([]);
});

test('A market that late records bring back is sealed again the day after, though those after it are sealed.', async () => {
  using kept = await keptUp(
    [1, 2, 3].flatMap((n) => linesOf(n)),
    { sealMs: DAY_MS },
  );
  const { archive, round } = kept;
  const nowMs = startOf(6);
  for (const n of [0, 1, 2]) round(nowMs + n * 10 * MINUTE_MS);
  expect(sealedIn(archive)).toHaveLength(3);
  await importRecords(archive, [sampleSnapshot({ conditionId: idOf(1), timestamp: at(startOf(1) + 2 * MINUTE_MS) })]);
  expect(sealedIn(archive)).toHaveLength(2);
  for (const n of [0, 1, 2]) round(nowMs + DAY_MS + n * 10 * MINUTE_MS);
  expect(sealedIn(archive)).toHaveLength(3);
});

test('Nothing is sealed while the disk has no room, or without an age.', async () => {
  for (const options of [{ sealMs: DAY_MS, hasRoom: () => false }, { sealMs: undefined }]) {
    using kept = await keptUp(linesOf(1), options);
    for (const n of [0, 1, 2]) kept.round(startOf(9) + n * 10 * MINUTE_MS);
    expect(sealedIn(kept.archive)).toEqual([]);
  }
});

test('Markets and prices are deleted with the day that is too old, sealed or not, once a day.', async () => {
  const prices = [1, 2, 3, 4].map((n) => sampleCoinPrice({ timestamp: at(startOf(n)) }));
  using kept = await keptUp([...[1, 2, 3, 4].flatMap((n) => linesOf(n)), ...prices], { keepMs: 3 * DAY_MS });
  const { archive, path, round, log } = kept;
  sealAll(archive);
  const record = (ms: number) =>
    importRecords(archive, linesOf(9).with(1, sampleSnapshot({ conditionId: idOf(9), timestamp: at(ms) })));
  await importRecords(
    archive,
    linesOf(2).with(1, sampleSnapshot({ conditionId: idOf(2), timestamp: at(startOf(2) + 2) })),
  );
  const files = () =>
    readdirSync(join(path, BOOKS), { recursive: true }).filter((name) => String(name).endsWith('.db'));
  expect(files()).toHaveLength(3 + 1);
  round(DAY + 5 * DAY_MS - 10 * MINUTE_MS);
  expect(namesOf(archive)).toHaveLength(4);
  // The last book is of the day before.
  round(DAY + 5 * DAY_MS);
  expect(namesOf(archive)).toHaveLength(4);
  await record(DAY + 5 * DAY_MS);
  round(DAY + 5 * DAY_MS + 10 * MINUTE_MS);
  expect(namesOf(archive)).toEqual(['m-2', 'm-3', 'm-4', 'm-9']);
  expect(log).toEqual([`1 and 0 before ${at(DAY + 2 * DAY_MS)}`]);
  round(DAY + 5.5 * DAY_MS);
  await record(DAY + 7 * DAY_MS);
  round(DAY + 7 * DAY_MS);
  expect(namesOf(archive)).toEqual(['m-4', 'm-9']);
  expect(log.slice(1)).toEqual([expect.stringMatching(/^2 and [12] before /)]);
  expect(sealedIn(archive)).toEqual([idOf(4)]);
});

test('A clock that is ahead of what is recorded deletes nothing that is to be kept, and a warning says so once a day.', async () => {
  using kept = await keptUp(
    [1, 2, 3, 4].flatMap((n) => linesOf(n)),
    { keepMs: 2 * DAY_MS },
  );
  const { archive, round, log } = kept;
  const ahead = startOf(400);
  for (const n of [0, 1, 2]) round(ahead + n * 10 * MINUTE_MS);
  expect(namesOf(archive)).toHaveLength(4);
  expect(log).toEqual([
    'the clock says 2027-05-21, but the newest book is of 2026-04-20: nothing is deleted until they are less than a day apart',
  ]);
  // It was set back: less than a day ahead, but on the next day.
  round(startOf(5) - DAY_MS / 4);
  round(startOf(5) - DAY_MS / 4 + 10 * MINUTE_MS);
  expect(namesOf(archive)).toEqual(['m-2', 'm-3', 'm-4']);
});

test('A turn is one step if it has no time, and a deletion that the end of the process breaks off is counted.', async () => {
  const many = Array.from({ length: 250 }, (_, i) =>
    linesOf(1).map((line) => ({ ...line, conditionId: idOf(i + 1), slug: `m-${i}` })),
  ).flat();
  const newest = linesOf(9).map((line) => ({ ...line, conditionId: '0xffff' }));
  using kept = await keptUp([...many, ...newest], { keepMs: DAY_MS, turnMs: 0 });
  const { archive, upkeep, log, turnAt } = kept;
  const left = () => namesOf(archive).length;
  const leftAfterTurn = () => {
    turnAt(startOf(9));
    return left();
  };
  expect([leftAfterTurn(), leftAfterTurn()]).toEqual([151, 51]);
  upkeep[Symbol.dispose]();
  expect(log).toEqual([`200 and 0 before ${at(DAY + 8 * DAY_MS)}`]);
  expect(left()).toBe(51);
});

test('What prevents sealing is a warning, and the next round tries again.', async () => {
  using kept = await keptUp(linesOf(1), { sealMs: DAY_MS });
  const { archive, path, round, log } = kept;
  writeFileSync(join(path, BOOKS), 'a file in place of the folder');
  for (const n of [0, 1, 2]) round(startOf(5) + n * 10 * MINUTE_MS);
  // The search for files that nobody needs, and the sealing itself.
  expect(log).toEqual([1, 2].map(() => expect.stringContaining(join(path, BOOKS))));
  rmSync(join(path, BOOKS));
  round(startOf(5) + 30 * MINUTE_MS);
  expect(sealedIn(archive)).toEqual([idOf(1)]);
  expect(log).toHaveLength(2);
});

test('A market with a damaged segment is a warning of the day, and the others are sealed.', async () => {
  using kept = await keptUp(
    [1, 2, 3].flatMap((n) => linesOf(n)),
    { sealMs: DAY_MS },
  );
  const { archive, round, log } = kept;
  damageBooks(archive, archive.markets.findByConditionId(idOf(1))!.key, 'up', false);
  const nowMs = startOf(3) + DAY_MS - 20 * MINUTE_MS;
  for (const n of [0, 1, 2]) round(nowMs + n * 10 * MINUTE_MS);
  expect(sealedIn(archive)).toEqual([idOf(2)]);
  // The third ends later.
  for (const n of [3, 4]) round(nowMs + n * 10 * MINUTE_MS);
  expect(sealedIn(archive)).toEqual([idOf(2), idOf(3)]);
  expect(log).toEqual([expect.stringMatching(/^not sealed: m-1: a stored segment is damaged/)]);
});
