import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { marketRows } from '../../src/cli/verify-text.ts';
import { OUTCOMES, type Outcome } from '../../src/domain/outcome.ts';
import { STATEMENT_ID, type Statement, statementCodec } from '../../src/segment/statement-segment.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { Coverages } from '../../src/store/coverage.ts';
import type { MarketObservations } from '../../src/verify/report.ts';
import { verifyDirectory } from '../../src/verify/verify.ts';
import { CAPTURE, capturedMarket } from '../import/capture.ts';
import { importPaths, importRecords, NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { otherBook, storeAsBefore, type TimedBook } from '../support/earlier-archive.ts';
import { booksOf, marketOf } from '../support/imported.ts';
import { REAL_BOOKS } from '../support/real-recordings.ts';
import { START_MS, sampleMarket } from '../support/sample-records.ts';
import { bothOutcomes, type Verifiable, verifiable } from './verifiable.ts';

const { slug: SLUG } = sampleMarket();
const ADVICE =
  'different imports stored different books: import the best recording again, which keeps the book that its hashes prove';
const GAP = { fromMs: START_MS + 1000, toMs: START_MS + 2000 };
const reasonOf = (outcome: Outcome) => `the recorded book of ${outcome} differs from the changes before it in 2 levels`;

async function verified(path: string) {
  const markets: MarketObservations[] = [];
  const onMarket = (market: MarketObservations) => void markets.push(market);
  return { ...(await verifyDirectory(path, { clock: () => NOW_MS, onMarket })), markets };
}

const booksAt = (count: number, size: number): TimedBook[] =>
  Array.from({ length: count }, (_, at) => ({
    timestampMs: START_MS + at * 250,
    book: { bidPrices: [0.4], bidSizes: [size + at], askPrices: [0.6], askSizes: [5] },
  }));

/** An archive of one market, which `change` is given. */
async function archiveOf(change: (archive: Archive) => void) {
  const place = temporaryArchive();
  await importRecords(place.archive, [sampleMarket()]);
  change(place.archive);
  return place;
}

describe('instants with different books', () => {
  test('Instants that contradict are one problem of verify for each outcome, which counts them and says what to do.', async () => {
    using place = await archiveOf((archive) => {
      const market = marketOf(archive, SLUG);
      for (const outcome of OUTCOMES) storeAsBefore(archive, market, outcome, booksAt(40, 10));
      storeAsBefore(archive, market, 'up', booksAt(40, 500).slice(7, 12));
      storeAsBefore(archive, market, 'down', booksAt(40, 500).slice(20, 21));
    });
    const { ok, problems, totals, markets } = await verified(place.path);
    expect(ok).toBe(false);
    expect(problems).toMatchObject([
      {
        ...{ kind: 'contradiction', slug: SLUG, outcome: 'up', series: 'book', fromMs: START_MS + 7 * 250 },
        what: `at 5 instants, of which this is the first, ${ADVICE}`,
      },
      { kind: 'contradiction', outcome: 'down', fromMs: START_MS + 20 * 250, what: `at this instant ${ADVICE}` },
    ]);
    // A backup of such an archive can be restored.
    expect(totals).toMatchObject({ problems: 2, damage: 0 });
    expect(markets[0]!.outcomes.map(({ contradicting }) => contradicting)).toEqual([5, 1]);
  });

  test('of one source are none: in one import, where a batch ends, and in pieces that follow each other', async () => {
    using place = await archiveOf((archive) => {
      const market = marketOf(archive, SLUG);
      const [first, second] = [booksAt(40, 10), booksAt(40, 500)];
      const sequence = first.flatMap((book, at) => (at % 5 === 0 ? [book, second[at]!] : [book]));
      storeAsBefore(archive, market, 'up', sequence.slice(0, 7));
      storeAsBefore(archive, market, 'down', first);
      storeAsBefore(archive, market, 'up', sequence.slice(7));
    });
    expect((await verified(place.path)).problems).toEqual([]);
  });

  test('What a merge has judged does not contradict, and what it left to another recording may.', async () => {
    const found = async (statements: readonly Statement[]) => {
      using place = await archiveOf((archive) => {
        const market = marketOf(archive, SLUG);
        storeAsBefore(archive, market, 'up', booksAt(40, 10));
        storeAsBefore(archive, market, 'up', booksAt(40, 500).slice(7, 8));
        archive.database.write(() => archive.statements.replace(market, 'up', 0, NOW_MS, statements));
      });
      const { problems } = await verified(place.path);
      const { contradicting } = await new Coverages(place.archive.database.path, () => Promise.resolve()).of(
        marketOf(place.archive, SLUG),
      );
      return [problems.length, contradicting.length];
    };
    const atMs = START_MS + 7 * 250;
    expect(await found([statement(atMs - 250), statement(atMs, { isForeign: true })])).toEqual([1, 1]);
    expect(await found([statement(atMs - 250, { isForeign: true }), statement(atMs, { isFull: true })])).toEqual([
      0, 0,
    ]);
    expect(await found([statement(atMs + 250, { isForeign: true })])).toEqual([0, 0]);
  });
});

describe('gaps with books inside', () => {
  const archiveWith = (statements: readonly Statement[], reason = reasonOf('up')) =>
    archiveOf((archive) => {
      const market = marketOf(archive, SLUG);
      storeAsBefore(archive, market, 'up', booksAt(40, 10));
      archive.database.write(() => {
        archive.gaps.add(market.key, { ...GAP, reason });
        // From one book to the next: nothing is inside.
        archive.gaps.add(market.key, { fromMs: GAP.toMs, toMs: GAP.toMs + 250, reason: reasonOf('up') });
        if (statements.length > 0) archive.statements.replace(market, 'up', 0, NOW_MS, statements);
      });
    });
  const covered = async (path: string) => {
    const { ok, markets } = await verified(path);
    expect(ok).toBe(true);
    return markets[0]!.outcomes.map(({ coveredGaps }) => coveredGaps);
  };

  test('A gap of a rebuild with rebuilt books inside is noted, and no problem.', async () => {
    using place = await archiveWith([]);
    expect(await covered(place.path)).toEqual([1, 0]);
    const { markets } = await verified(place.path);
    expect(marketRows(markets[0]!)[0]!.notes).toContain(
      '; 1 gap has stored books inside: import the best recording again, which takes back gaps that it covers and books that are not proved',
    );
  });

  test('do not count if they are of the other outcome, or stated by a recorder', async () => {
    for (const reason of [reasonOf('down'), 'recorder restarted']) {
      using place = await archiveWith([], reason);
      expect(await covered(place.path)).toEqual([0, 0]);
    }
  });

  test('do not count if the books are foreign or stated as a whole', async () => {
    const inside = [5, 6, 7].map((at) => START_MS + at * 250);
    using foreign = await archiveWith(inside.map((atMs) => statement(atMs, { isForeign: true })));
    using whole = await archiveWith(inside.map((atMs) => statement(atMs, { isFull: true })));
    using one = await archiveWith(inside.slice(1).map((atMs) => statement(atMs, { isFull: true })));
    expect(await covered(foreign.path)).toEqual([0, 0]);
    expect(await covered(whole.path)).toEqual([0, 0]);
    expect(await covered(one.path)).toEqual([1, 0]);
  });
});

describe('statements', () => {
  const SEGMENTS = `SELECT segment_id, payload FROM segments JOIN series USING (series_id) WHERE kind = 'statement'`;
  const digestOf = (payload: Uint8Array) => new Uint8Array(Bun.SHA256.hash(payload).buffer);

  async function stated(statements: readonly Statement[]) {
    const place = await verifiable([sampleMarket(), ...bothOutcomes(sampleMarket().conditionId, START_MS, 1, 40)]);
    const archive = openArchive(place.data, NOW_MS, { create: false });
    const market = marketOf(archive, SLUG);
    archive.database.write(() => archive.statements.replace(market, 'down', 0, NOW_MS, statements));
    archive.database.close();
    return place;
  }

  const level = { isBid: true, price: 0.4, orders: [[{ size: 5, hash: 'ab'.repeat(20) }]] };
  const STATEMENTS = Array.from({ length: 40 }, (_, at) =>
    statement(START_MS + at * 250, at % 2 === 0 ? { isProved: true } : { levels: [level] }),
  );
  const segmentOf = (place: Verifiable) => place.rows<{ segment_id: number; payload: Uint8Array }>(SEGMENTS)[0]!;

  test('that are sound are read completely', async () => {
    using place = await stated(STATEMENTS);
    const { problems, totals } = await place.verify();
    expect(problems).toEqual([]);
    expect(totals).toMatchObject({
      ...place.rows<object>('SELECT COUNT(*) AS segments, SUM(records) AS records FROM segments')[0],
    });
  });

  test('with any flipped byte are reported by the digest', async () => {
    using place = await stated(STATEMENTS);
    const { segment_id: segmentId, payload } = segmentOf(place);
    for (const at of [0, 40, payload.length >> 1, payload.length - 1]) {
      const flipped = payload.slice();
      flipped[at]! ^= 1;
      place.change('UPDATE segments SET payload = ? WHERE segment_id = ?', flipped, segmentId);
      expect((await place.verify()).problems).toMatchObject([
        { kind: 'segment', series: 'statement', outcome: 'down', segmentId, what: expect.stringContaining('digest') },
      ]);
    }
  });

  test('that cannot be decoded are reported, although their digest matches', async () => {
    using place = await stated(STATEMENTS);
    const { segment_id: segmentId, payload } = segmentOf(place);
    for (const broken of [
      payload.slice(0, -1),
      new Uint8Array([...payload, 0]),
      payload.slice(0, payload.length - 30),
    ]) {
      place.change(
        'UPDATE segments SET payload = ?, digest = ? WHERE segment_id = ?',
        ...[broken, digestOf(broken), segmentId],
      );
      expect((await place.verify()).problems).toMatchObject([
        {
          ...{ kind: 'segment', series: 'statement', segmentId },
          what: 'the segment cannot be decoded, although it matches its digest',
        },
      ]);
    }
  });

  test('with impossible sizes, prices or ids are reported', async () => {
    const orders = (size: number) => [[{ size, hash: undefined }]];
    for (const wrong of [
      { levels: [{ ...level, price: 1.5 }] },
      { levels: [{ ...level, orders: orders(-1) }] },
      { levels: [{ ...level, orders: orders(Number.NaN) }] },
      { levels: [{ ...level, orders: [] }] },
      { levels: [{ ...level, orders: [[]] }] },
    ]) {
      using place = await stated([...STATEMENTS.slice(0, 5), statement(START_MS + 5 * 250, wrong)]);
      expect((await place.verify()).problems).toMatchObject([
        { kind: 'value', series: 'statement', fromMs: START_MS + 5 * 250 },
      ]);
    }
    using place = await stated(STATEMENTS.slice(0, 3));
    const { payload } = statementCodec.encode([{ ...STATEMENTS[0]!, id: 2 }], 0, 1);
    place.change(
      `UPDATE segments SET payload = ?, digest = ?, first_id = 2, last_id = 2, records = 1, last_ms = first_ms WHERE segment_id = ?`,
      ...[payload, digestOf(payload), segmentOf(place).segment_id],
    );
    expect((await place.verify()).problems).toMatchObject([{ kind: 'value', series: 'statement' }]);
  });

  test('that prove a book before the first one are reported', async () => {
    using place = await stated([statement(START_MS - 1, { isProved: true }), ...STATEMENTS]);
    expect((await place.verify()).problems).toMatchObject([
      {
        kind: 'value',
        series: 'statement',
        fromMs: START_MS - 1,
        what: 'a statement is about a book that is not stored',
      },
    ]);
    using unproved = await stated([statement(START_MS - 1, { levels: [level] }), ...STATEMENTS]);
    expect((await unproved.verify()).problems).toEqual([]);
  });
});

describe.skipIf(CAPTURE === undefined)('the capture', () => {
  // All of its 14 s take three times as long.
  const { slug, frames: recorded } = CAPTURE === undefined ? { slug: '', frames: [] } : capturedMarket(5000);

  async function imported(archive: Archive, frames: readonly string[]): Promise<void> {
    using directory = temporaryDirectory();
    const path = join(directory.path, 'frames.jsonl');
    writeFileSync(path, frames.join('\n'));
    await importPaths(archive, join(CAPTURE!, 'markets.json'), path);
  }

  const contentsOf = (archive: Archive) =>
    OUTCOMES.map((outcome) => booksOf(archive, slug, outcome).map(({ timestampMs, book }) => ({ timestampMs, book })));

  test('alone, and a recording of it that missed frames, have no such instant and no such gap', async () => {
    const poor = recorded.filter((line, at) => at % 50 !== 0 || !line.includes('"price_change"'));
    for (const frames of [recorded, poor]) {
      using place = temporaryArchive();
      await imported(place.archive, frames);
      const { problems, markets } = await verified(place.path);
      expect(problems).toEqual([]);
      const outcomes = markets.flatMap((market) => market.outcomes);
      expect(outcomes.map(({ contradicting, coveredGaps }) => contradicting + coveredGaps)).toEqual(
        outcomes.map(() => 0),
      );
    }
  });

  // A second recorder that had missed frames left other books at some instants, and gaps.
  test.each(['the good recording came first', 'the good recording came last'])(
    'mends an archive of version 0.3 in which %s',
    async (order) => {
      using perfect = temporaryArchive();
      await imported(perfect.archive, recorded);
      using place = temporaryArchive();
      const { archive } = place;
      await importPaths(archive, join(CAPTURE!, 'markets.json'));
      const market = marketOf(archive, slug);
      for (const [at, books] of contentsOf(perfect.archive).entries()) {
        const outcome = OUTCOMES[at]!;
        const others = books
          .filter((_, nth) => nth > 100 && nth % 9 === 0)
          .map(({ timestampMs, book }) => ({ timestampMs, book: otherBook(book) }));
        const groups = order.endsWith('first') ? [books, others] : [others, books];
        for (const group of groups) storeAsBefore(archive, market, outcome, group);
        const [from, to] = [books[300]!.timestampMs, books[350]!.timestampMs];
        archive.database.write(() =>
          archive.gaps.add(market.key, { fromMs: from, toMs: to, reason: reasonOf(outcome) }),
        );
      }
      const before = await verified(place.path);
      expect(before.problems.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
        'contradiction up',
        'contradiction down',
      ]);
      const observed = before.markets.find((one) => one.slug === slug)!;
      expect(observed.outcomes.every(({ contradicting }) => contradicting > 40)).toBe(true);
      expect(observed.outcomes.map(({ coveredGaps }) => coveredGaps)).toEqual([1, 1]);

      await imported(archive, recorded);
      const after = await verified(place.path);
      expect(after.problems).toEqual([]);
      expect(after.markets.find((one) => one.slug === slug)!.outcomes.map(({ coveredGaps }) => coveredGaps)).toEqual([
        0, 0,
      ]);
      expect(archive.gaps.list(market.key)).toEqual([]);
      expect(Bun.deepEquals(contentsOf(archive), contentsOf(perfect.archive))).toBe(true);
    },
  );
});

test.skipIf(REAL_BOOKS === undefined)('real books of a source without changes have no such instant', async () => {
  using place = temporaryArchive();
  const files = ['btc-updown-5m-1776323400_1776323446.parquet', 'btc-updown-5m-1776323400_1776323465.parquet'];
  await importPaths(
    place.archive,
    join(REAL_BOOKS!, 'markets.ndjson'),
    ...files.map((name) => join(REAL_BOOKS!, name)),
  );
  const { problems, totals } = await verified(place.path);
  expect(problems).toEqual([]);
  expect(totals.snapshots).toBeGreaterThan(500);
});

function statement(timestampMs: number, fields: Partial<Statement> = {}): Statement {
  const flags = { isProved: false, isFull: false, isAlone: false, isForeign: false };
  return { timestampMs, id: STATEMENT_ID, ...flags, levels: undefined, ...fields };
}
