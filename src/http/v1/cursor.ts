import { createHash } from 'node:crypto';
import { isInstant } from '../../domain/instant.ts';
import type { Position } from '../../domain/page.ts';
import { CURSOR_SHAPE } from '../parameters/query.ts';

/**
 * An opaque cursor is base64url of 21 bytes: timestamp in ms (6, big endian), id (7, big endian), and 8 bytes of SHA-256 over
 * both and the scope. The scope names the series, market, order and filter of the cursor, so an altered cursor, or one of another
 * request, is refused. 21 bytes are exactly 28 characters: a cursor has one spelling. The tag is not a secret: a forged cursor
 * gives no access to other records.
 */
const POSITION_BYTES = 13;
const TAG_BYTES = 8;

export function encodeCursor(position: Position, scope: string): string {
  const bytes = Buffer.alloc(POSITION_BYTES + TAG_BYTES);
  bytes.writeUIntBE(position.timestampMs, 0, 6);
  // Buffer writes at most 6 bytes at once: the high byte of the id, then its lower 48 bits.
  bytes.writeUInt8(Math.floor(position.id / 2 ** 48), 6);
  bytes.writeUIntBE(position.id % 2 ** 48, 7, 6);
  tagOf(bytes, scope).copy(bytes, POSITION_BYTES);
  return bytes.toString('base64url');
}

/** The position of a cursor; undefined if the cursor was altered or is of another scope. */
export function decodeCursor(text: string, scope: string): Position | undefined {
  if (!CURSOR_SHAPE.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  if (!tagOf(bytes, scope).equals(bytes.subarray(POSITION_BYTES))) return undefined;
  const timestampMs = bytes.readUIntBE(0, 6);
  const id = bytes.readUInt8(6) * 2 ** 48 + bytes.readUIntBE(7, 6);
  return isInstant(timestampMs) && Number.isSafeInteger(id) ? { timestampMs, id } : undefined;
}

function tagOf(bytes: Buffer, scope: string): Buffer {
  const hash = createHash('sha256');
  hash.update(bytes.subarray(0, POSITION_BYTES));
  hash.update(scope);
  return hash.digest().subarray(0, TAG_BYTES);
}
