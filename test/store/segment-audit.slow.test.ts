import { describe, expect, test } from 'bun:test';
import { DomainError } from '../../src/domain/errors.ts';
import { readSegmentHeader } from '../../src/segment/segment-header.ts';
import { Database } from '../../src/store/database.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { SegmentAudit } from '../../src/store/segment-audit.ts';
import { importRecords, temporaryArchive } from '../support/archive.ts';
import { LIGHT_CONDITION_ID, LIGHT_MARKET, lightSnapshot } from '../support/light-recording.ts';

describe('an audit', () => {
  test('walks a series of many segments in its order, each once', async () => {
    using held = temporaryArchive();
    const { archive } = held;
    // More segments than positions are read at once: of large books, only few fit each.
    const snapshots = Array.from({ length: 3600 }, (_, index) => lightSnapshot(index, 120));
    await importRecords(archive, [LIGHT_MARKET, ...snapshots]);
    const audit = new SegmentAudit(archive.database);
    const market = archive.markets.findByConditionId(LIGHT_CONDITION_ID)!;
    const books = audit.seriesOf(market.key).filter(({ kind }) => kind === 'book');
    expect(books.map(({ outcome }) => outcome)).toEqual(['up', 'down']);
    for (const { seriesId } of books) {
      const segments = [...audit.segments(seriesId)];
      expect(segments.length).toBeGreaterThan(256);
      const times = segments.flatMap((segment) =>
        segment.fault === undefined ? [...segment.head.timestamps] : [Number.NaN],
      );
      expect(times).toHaveLength(1800);
      expect(times).toEqual([...times].sort((a, b) => a - b));
    }
  });
});

test('an audit finds arrivals that cannot be decoded, although the digest is right', async () => {
  using held = temporaryArchive();
  const { archive } = held;
  const snapshots = [0, 1, 2, 3].map((index) => ({
    ...lightSnapshot(index, 3),
    receivedAt: '2026-07-01T00:00:00.000Z',
  }));
  await importRecords(archive, [LIGHT_MARKET, ...snapshots]);
  const audit = new SegmentAudit(archive.database);
  const market = archive.markets.findByConditionId(LIGHT_CONDITION_ID)!;
  const [series] = audit.seriesOf(market.key).filter(({ kind }) => kind === 'book');
  const faultsOf = () => [...audit.segments(series!.seriesId)].map(({ fault }) => fault);
  expect(faultsOf()).toEqual([undefined]);
  const [segment] = [...audit.segments(series!.seriesId)];
  if (segment?.fault !== undefined) throw new Error(segment?.fault);
  const payload = segment!.payload.slice();
  const { arrivalsOffset } = readSegmentHeader(payload);
  expect(arrivalsOffset).toBeGreaterThan(0);
  // The last delay says that another byte follows.
  payload[readSegmentHeader(payload).bodyOffset - 1]! |= 128;
  archive.database.write(() =>
    archive.database
      .query<never, [Uint8Array, Uint8Array, number]>(
        'UPDATE segments SET payload = ?, digest = ? WHERE segment_id = ?',
      )
      .run(payload, new Uint8Array(Bun.SHA256.hash(payload).buffer), segment!.segmentId),
  );
  expect(faultsOf()).toEqual(['cannot be decoded, though its payload matches its digest']);
});

describe('a database opened to read', () => {
  test('refuses every change', () => {
    using held = temporaryArchive();
    for (const isClosed of [false, true]) {
      if (isClosed) held.archive.database.close();
      const database = Database.openToRead(held.archive.database.path, RECORDINGS);
      const write = () => database.write(() => database.query('DELETE FROM gaps').run());
      expect(write).toThrow(DomainError);
      database.close();
    }
  });
});
