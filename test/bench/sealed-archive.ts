import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDerived } from '../../src/segment/derived-segment.ts';
import { isMirror } from '../../src/segment/mirror-segment.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { RECORDINGS } from '../../src/store/database-file.ts';
import { BOOKS } from '../../src/store/sealed-files.ts';
import { Sealing } from '../../src/store/sealing.ts';
import { NOW_MS } from '../support/archive.ts';
import { addMarkets, statementOf } from './growth-archive.ts';

/** From here on all ids, and all keys of series, have the same length in files. */
const FIRST = { id: 10_000_000, seriesId: 100_000 };
const MARKETS_AT_ONCE = 5000;
const SEAL = /-([0-9a-f]{16})\.db$/;

/** The file of the first market, in which others differ at some offsets only. */
interface Template {
  readonly bytes: Buffer;
  readonly conditionId: string;
  readonly seal: string;
  readonly startMs: number;
  readonly series: readonly TemplateSeries[];
  readonly ids: number;
}

interface TemplateSeries {
  readonly seriesId: number;
  readonly kind: string;
  readonly outcome: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly firstId: number;
  readonly lastId: number;
  readonly records: number;
  readonly digest: Buffer;
  /** As in bookreel.db, which the digest is of. */
  readonly payload: Buffer;
  /** The shorter one that is in the file in its place. It has no times and ids of its own, but rows and differences. */
  readonly mirror: Buffer | undefined;
}

/**
 * A data directory of this number of sealed markets, those of growth-archive.ts with the same books in each. The first one is recorded and sealed
 * by the stores; the files and rows of the others are copies of its with other ids, times, digests and seals, since sealing 300,000 markets
 * takes long. `verify` finds nothing in it. It is kept outside the project for the next run.
 */
export function sealedArchive(markets: number): string {
  const digest = createHash('sha256')
    .update(readFileSync(import.meta.path))
    .update(readFileSync(join(import.meta.dir, 'growth-archive.ts')))
    .update(RECORDINGS.schema)
    .digest('hex')
    .slice(0, 12);
  const data = join(tmpdir(), `bookreel-bench-sealed-${RECORDINGS.version}-${digest}-${markets}`);
  if (existsSync(data)) return data;
  const making = `${data}.making-${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  addSealed(making, 0, markets);
  renameSync(making, data);
  return data;
}

/** Adds the markets from this number to before the other one to a data directory that has all those before. */
export function addSealed(data: string, from: number, to: number): void {
  const archive = openArchive(data, NOW_MS, { create: true });
  try {
    if (from === 0) sealFirst(archive);
    const template = templateIn(data, archive);
    // No power is lost in a bench.
    archive.database.query('PRAGMA synchronous = OFF').run();
    for (let at = Math.max(1, from); at < to; at += MARKETS_AT_ONCE) {
      archive.database.write(() => addCopies(data, archive, template, at, Math.min(to, at + MARKETS_AT_ONCE)));
    }
    archive.database.checkpoint();
  } finally {
    archive.database.close();
  }
}

function sealFirst(archive: Archive): void {
  const { database } = archive;
  database.write(() => {
    database.query('INSERT INTO given_ids (first_id, last_id) VALUES (1, ?)').run(FIRST.id - 1);
    database
      .query("INSERT INTO series (series_id, kind, symbol, source) VALUES (?, 'coin-price', 'btc', 'none')")
      .run(FIRST.seriesId - 1);
    addMarkets(archive, 0, 1);
    // Prices of coins would be in the way of the series of other markets.
    database
      .query("DELETE FROM segments WHERE series_id IN (SELECT series_id FROM series WHERE kind = 'coin-price')")
      .run();
    database.query("DELETE FROM series WHERE kind = 'coin-price'").run();
  });
  for (const _ of new Sealing(archive).run(Infinity, Infinity));
}

function templateIn(data: string, { database, markets, sealed }: Archive): Template {
  return database.read(() => {
    const { key, conditionId, startMs } = markets.findByConditionId(statementOf(0).conditionId)!;
    const { path } = sealed.byKey(key)!;
    const rows = sealed.seriesOf(key).map(({ seriesId }) => {
      const { kind, outcome } = database
        .query<{ kind: string; outcome: string }, [number]>('SELECT kind, outcome FROM series WHERE series_id = ?')
        .get(seriesId)!;
      const [segment, ...more] = sealed.read(seriesId, (segments) => [...segments.all(seriesId)])!;
      if (segment === undefined || more.length > 0) throw new Error('a series of the template has one segment');
      const { digest, payload, ...row } = segment;
      const stored = sealed
        .queriesOf(seriesId)!
        .query<{ payload: Uint8Array }, [number]>('SELECT payload FROM segments WHERE series_id = ?')
        .get(seriesId)!.payload;
      const mirror = isMirror(stored) || isDerived(stored) ? Buffer.from(stored) : undefined;
      return { ...row, kind, outcome, digest: Buffer.from(digest), payload: Buffer.from(payload), mirror };
    });
    const lastId = Math.max(...rows.map((row) => row.lastId));
    return {
      bytes: readFileSync(join(data, BOOKS, path)),
      ...{ conditionId, startMs, series: rows },
      seal: SEAL.exec(path)![1]!,
      ids: lastId - FIRST.id + 1,
    };
  });
}

function addCopies(data: string, { database, markets }: Archive, template: Template, from: number, to: number): void {
  const addSeries = database.query<never, [number, string, number, string, number | null]>(
    'INSERT INTO series (series_id, kind, market_key, outcome, recorded_from_ms) VALUES (?, ?, ?, ?, ?)',
  );
  const addSealedMarket = database.query<never, [number, string, string, number, Uint8Array]>(
    'INSERT INTO sealed_markets (market_key, path, seal, bytes, digest) VALUES (?, ?, ?, ?, ?)',
  );
  const addSealedSeries = database.query<never, [number, number, number, number, number, number]>(
    'INSERT INTO sealed_series (series_id, market_key, first_ms, last_ms, segments, records, bytes) VALUES (?, ?, ?, ?, 1, ?, ?)',
  );
  // What the store derives from the records of the template.
  const derive = database.query<never, [number, number, number]>(
    `UPDATE markets SET (snapshot_count, first_snapshot_ms, last_snapshot_ms, recorded_ms) =
       (SELECT snapshot_count, first_snapshot_ms + ?1, last_snapshot_ms + ?1, recorded_ms FROM markets WHERE market_key = ?3)
     WHERE market_key = ?2`,
  );
  const templateKey = markets.findByConditionId(template.conditionId)!.key;
  const recordedFrom = database.query<{ ms: number | null }, [number]>(
    'SELECT recorded_from_ms AS ms FROM series WHERE series_id = ?',
  );
  const starts = template.series.map(({ seriesId }) => recordedFrom.get(seriesId)!.ms);
  for (let nth = from; nth < to; nth += 1) {
    const { market } = markets.put(statementOf(nth), NOW_MS);
    const shiftMs = market.startMs - template.startMs;
    const { bytes, seal, series } = copyOf(template, nth, market.conditionId, shiftMs);
    const path = `${new Date(market.startMs).toISOString().slice(0, 10)}/${market.conditionId}-${seal}.db`;
    const place = join(data, BOOKS, path);
    if (!existsSync(dirname(place))) mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
    writeFileSync(place, bytes, { mode: 0o600 });
    derive.run(shiftMs, market.key, templateKey);
    addSealedMarket.run(market.key, path, seal, bytes.length, createHash('sha256').update(bytes).digest());
    for (const [index, { seriesId, kind, outcome, firstMs, lastMs, records, payload }] of series.entries()) {
      const startedMs = starts[index] ?? null;
      addSeries.run(seriesId, kind, market.key, outcome, startedMs === null ? null : startedMs + shiftMs);
      addSealedSeries.run(seriesId, market.key, firstMs, lastMs, records, payload.length);
    }
  }
  database.query('UPDATE given_ids SET last_id = ? WHERE first_id = 1').run(FIRST.id + to * template.ids - 1);
}

/** The file of the market of a number, and its series. */
function copyOf(template: Template, nth: number, conditionId: string, shiftMs: number) {
  const bytes = Buffer.from(template.bytes);
  const seal = createHash('sha256').update(`seal ${nth}`).digest('hex').slice(0, 16);
  replace(bytes, Buffer.from(template.conditionId + template.seal), Buffer.from(conditionId + seal));
  const series = template.series.map((from) => {
    const payload = Buffer.from(from.payload);
    replace(payload, varint(from.firstMs), varint(from.firstMs + shiftMs));
    replace(payload, varint(from.firstId), varint(from.firstId + nth * template.ids));
    const to = {
      ...from,
      seriesId: from.seriesId + nth * template.series.length,
      firstMs: from.firstMs + shiftMs,
      lastMs: from.lastMs + shiftMs,
      firstId: from.firstId + nth * template.ids,
      lastId: from.lastId + nth * template.ids,
      payload,
      digest: createHash('sha256').update(payload).digest(),
    };
    replace(bytes, rowOf(from), rowOf(to));
    replace(bytes, keyOf(from), keyOf(to));
    return to;
  });
  return { bytes, seal, series };
}

/** The columns of a segment as SQLite writes them into a row, without its header and what is equal in all markets. */
function rowOf(row: TemplateSeries): Buffer {
  const { seriesId, firstMs, firstId, lastMs, lastId, records, digest, payload, mirror = payload } = row;
  return Buffer.concat([
    ...[bigEndian(seriesId, 3), bigEndian(firstMs, 6), bigEndian(firstId, 4), bigEndian(lastMs, 6)],
    // SQLite writes no byte for 1.
    ...[bigEndian(lastId, 4), records === 1 ? Buffer.alloc(0) : bigEndian(records, 1), digest, mirror],
  ]);
}

function keyOf({ seriesId, lastMs, lastId }: TemplateSeries): Buffer {
  return Buffer.concat([bigEndian(seriesId, 3), bigEndian(lastMs, 6), bigEndian(lastId, 4)]);
}

function bigEndian(value: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUIntBE(value, 0, length);
  return bytes;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

/** Replaces bytes that occur once by others of the same length. */
function replace(bytes: Buffer, from: Buffer, to: Buffer): void {
  const at = bytes.indexOf(from);
  if (at < 0 || bytes.indexOf(from, at + 1) >= 0 || from.length !== to.length) {
    throw new Error('the file of a sealed market is not as this bench expects it');
  }
  to.copy(bytes, at);
}
