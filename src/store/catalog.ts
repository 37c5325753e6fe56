import { createHash } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { Packr } from 'msgpackr/pack';
import { Unpackr } from 'msgpackr/unpack';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { DomainError } from '../domain/errors.ts';
import { expand } from './database-packs.ts';
import { sha256Of } from './file-digest.ts';
import type { Queries } from './queries.ts';

/** Maximum size of the rows of markets in one object, before compression. A market with more has an object of its own. */
export const OBJECT_BYTES = 4 << 20;
const OBJECT_BYTES_MAX = 1 << 28;
const DIGEST_BYTES = 32;
const NUMBER_DIGITS = 12;
/** The version of the schema of bookreel.db, which determines the columns of rows. */
export const SCHEMA = 8;
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** The number of an object and the SHA-256 of its bytes: two copies with the same state are equal. */
export interface CatalogState {
  /** 0: the checkpoint with which a catalog begins; its digest is random. */
  readonly number: number;
  readonly digest: string;
}
/** The state of a database that is no copy of a catalog. */
export const NO_STATE: CatalogState = { number: 0, digest: '' };

/** The tables with the rows of a market; each refers only to tables before it. */
export const MARKET_TABLES = [
  'markets',
  'market_details',
  'series',
  'gaps',
  'sealed_markets',
  'sealed_series',
] as const;
/** The rows that belong to no market, by table and condition. Coin prices have only their series here. */
export const ARCHIVE_ROWS = [
  ['archive', '1'],
  ['deleted_markets', '1'],
  // Both conditions select the same rows; only the second one has an index.
  ['series', 'market_key IS NULL AND symbol IS NOT NULL'],
] as const;

/** The values of a row in the order of the schema's columns. */
const Row = Type.Array(Type.Union([Type.String(), Type.Number(), Type.Null(), Type.Unsafe<Uint8Array>(Type.Any())]));
export type Row = Static<typeof Row>;
const tablesOf = ({ length }: readonly unknown[]) =>
  Type.Array(Type.Array(Row), { minItems: length, maxItems: length });

/** A changed market: all its rows, in the order of `MARKET_TABLES`; without rows it was deleted. */
export const CatalogMarket = Type.Object({
  key: Type.Integer({ minimum: 1 }),
  rows: Type.Optional(tablesOf(MARKET_TABLES)),
});
export type CatalogMarket = Static<typeof CatalogMarket>;

/**
 * An object of the catalog, `catalog/000000000123`: the changes since the object before. Its bytes are the SHA-256 of the rest, then zstd of
 * msgpack of this. It has whole markets, so an object can be applied again.
 */
export const CatalogObject = Type.Object({
  schema: Type.Literal(SCHEMA),
  number: Type.Integer({ minimum: 1 }),
  /** The SHA-256 of the object before; the digest of the first checkpoint in the first one. */
  previous: Sha256,
  /** All rows that belong to no market, in the order of `ARCHIVE_ROWS`. */
  archive: tablesOf(ARCHIVE_ROWS),
  markets: Type.Array(CatalogMarket),
});
export type CatalogObject = Static<typeof CatalogObject>;

/** The name of the file of a sealed market: the text before its SHA-256, and the text after it. */
export const BOOK_OBJECTS = ['books/', '.db'] as const;

export function sealedObject(sha256: string): string {
  return BOOK_OBJECTS.join(sha256);
}

export function catalogObject(number: number): string {
  return `catalog/${numbered(number)}`;
}

/** Twelve digits, so that lists are in the order of numbers. */
export function numbered(number: number): string {
  return String(number).padStart(NUMBER_DIGITS, '0');
}

export function encodeObject(object: CatalogObject): Buffer {
  const packed = zstdCompressSync(new Packr({ useRecords: false }).pack(object));
  return Buffer.concat([createHash('sha256').update(packed).digest(), packed]);
}

/** Throws 'unreadable' unless these are the whole object that comes after `state`, 'conflict' for another schema than this program's. */
export function decodeObject(bytes: Uint8Array, state: CatalogState) {
  const number = state.number + 1;
  const name = `'${catalogObject(number)}'`;
  if (!isWhole(bytes)) throw new DomainError('unreadable', `${name} is damaged`);
  const packed = expand(bytes.subarray(DIGEST_BYTES), OBJECT_BYTES_MAX);
  const found: unknown = new Unpackr({ useRecords: false }).unpack(packed);
  if (!Value.Check(CatalogObject, found)) {
    throw new DomainError('conflict', `${name} is of another version of bookreel: use the same one everywhere`);
  }
  if (found.number !== number || found.previous !== state.digest) {
    throw new DomainError('unreadable', `${name} does not follow the one before`);
  }
  return { object: found, state: { number, digest: sha256Of(bytes) } };
}

/** False if bytes were lost or changed on the way. */
export function isWhole(bytes: Uint8Array): boolean {
  const digest = createHash('sha256').update(bytes.subarray(DIGEST_BYTES)).digest();
  return digest.equals(bytes.subarray(0, DIGEST_BYTES));
}

/** Reads the rows of a database that belong in a catalog. Call its methods within a view of the database. */
export class CatalogRows {
  readonly #archive;
  readonly #market;

  constructor(database: Queries) {
    // All columns, in the order of the schema, whose version each object states.
    this.#archive = ARCHIVE_ROWS.map(([table, rows]) =>
      database.query<Row, []>(`SELECT * FROM ${table} WHERE ${rows}`),
    );
    this.#market = MARKET_TABLES.map((table) => database.query<Row, [number]>(ROWS_OF_MARKET(table)));
  }

  archive(): Row[][] {
    return this.#archive.map((statement) => statement.values() as Row[]);
  }

  /** The rows of a market; none if it does not exist. `isSealed` false: as if it was not sealed. */
  market(key: number, isSealed = true): CatalogMarket {
    const [markets, ...others] = this.#market.map((statement, index) =>
      isSealed || index < MARKET_TABLES.indexOf('sealed_markets') ? (statement.values(key) as Row[]) : [],
    );
    return markets!.length === 0 ? { key } : { key, rows: [markets!, ...others] };
  }
}

export const ROWS_OF_MARKET = (table: (typeof MARKET_TABLES)[number]) => `SELECT * FROM ${table} WHERE market_key = ?`;

/** The approximate bytes of a market in an object. */
export function sizeOf({ rows = [] }: CatalogMarket): number {
  let bytes = 0;
  for (const row of rows.flat()) {
    for (const value of row) bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 9;
  }
  return bytes;
}
