import { type FileHandle, open } from 'node:fs/promises';
import { rangeChunks } from '../decompressed.ts';
import type { ByteRange } from '../file-chunks.ts';
import { checkedBytes } from './checked-bytes.ts';
import type { Member } from './member.ts';
import { MemberList, type NamedMember } from './member-list.ts';

const BLOCK_BYTES = 512;
/** The start and length of fields of a header (POSIX.1-2017, pax, "ustar Interchange Format"). */
const [NAME, SIZE, SUM, PREFIX] = [[0, 100] as const, [124, 12] as const, [148, 8] as const, [345, 155] as const];
const [TYPE_AT, MAGIC_AT] = [156, 257];
/** GNU's older headers have times where POSIX has the prefix, and another magic. */
const POSIX_MAGIC = 'ustar\0';
/** Types of members: regular files (also the old and the contiguous ones), directories, and GNU's files with holes. */
const [FILES, DIRECTORY, SPARSE] = ['0\u00007', '5', 'S'];
/** Types of blocks that describe members: pax headers of the next member and of all, GNU's long names and long link targets. */
const [EXTENDED, GLOBAL, LONG_NAME, LONG_TARGET] = ['x', 'g', 'L', 'K'];
/** An extended header or a long name is read as a whole. */
const EXTENSION_BYTES_MAX = 1024 * 1024;
const CUT_OFF = 'it ends before its end mark';

/** The fields of a member that blocks before its header state. */
interface Extension {
  readonly name?: string;
  readonly size?: number;
  readonly isSparse?: boolean;
}

/** Lists the members of a tar file (ustar, pax, GNU) by its headers alone. Damage ends the list, which is kept. */
export async function tarMembers(path: string, label: string): Promise<MemberList> {
  const list = new MemberList(label);
  await using file = await open(path, 'r');
  const { size: fileSize } = await file.stat();
  let extension: Extension = {};
  for (let at = 0; ; ) {
    const header = await bytesAt(file, at, BLOCK_BYTES);
    if (header === undefined) return cutOff(list, CUT_OFF);
    if (header.every((byte) => byte === 0)) return list;
    list.count();
    const size = extension.size ?? numberIn(header, SIZE);
    if (!isIntact(header) || size === undefined) return cutOff(list, 'a header is not valid');
    const type = String.fromCharCode(header[TYPE_AT]!);
    const start = at + BLOCK_BYTES;
    at = start + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
    if (type === GLOBAL || type === LONG_TARGET) continue;
    if (type === EXTENDED || type === LONG_NAME) {
      const stated = await extensionAt(file, type, start, size);
      if (stated === undefined) return cutOff(list, 'a header is not complete');
      extension = { ...extension, ...stated };
      continue;
    }
    const name = extension.name ?? nameIn(header);
    const range = { start, end: Math.min(start + size, fileSize) };
    const kind = extension.isSparse === true ? 'sparse' : kindOf(type, name);
    if (kind === 'file') list.add(name, size, (named) => memberAt(path, range, size, named));
    if (kind === 'sparse') list.leaveOut(name, 'holes (a sparse file)');
    if (kind === 'special') list.addSpecial();
    extension = {};
  }
}

/** Undefined if the file ends before the extension does, or if it is too long. */
async function extensionAt(
  file: FileHandle,
  type: string,
  start: number,
  size: number,
): Promise<Extension | undefined> {
  const bytes = size <= EXTENSION_BYTES_MAX ? await bytesAt(file, start, size) : undefined;
  if (bytes === undefined) return undefined;
  return type === EXTENDED ? extensionIn(bytes) : { name: textOf(bytes) };
}

/** Old writers gave directories the type of files, and a name that ends with a slash. */
function kindOf(type: string, name: string): 'sparse' | 'special' | 'file' | 'directory' {
  if (type === SPARSE) return 'sparse';
  if (type === DIRECTORY) return 'directory';
  if (!FILES.includes(type)) return 'special';
  return name.endsWith('/') ? 'directory' : 'file';
}

function cutOff(list: MemberList, reason: string): MemberList {
  list.setDamage(reason);
  return list;
}

/** A member of `size` bytes; `range` is shorter if the file is cut off. */
function memberAt(path: string, range: ByteRange, size: number, named: NamedMember): Member {
  return {
    ...named,
    storedBytes: range.end - range.start,
    stored: async () => await rangeChunks(path, range),
    unpacked: (stored) => checkedBytes(stored, size),
  };
}

/** The bytes at a place; undefined if the file ends before them. */
async function bytesAt(file: FileHandle, at: number, length: number): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await file.read(bytes, 0, length, at);
  return bytesRead === length ? bytes : undefined;
}

/** Returns true if the checksum is right: the sum of the header with blanks in its place. Old writers took the bytes as signed. */
function isIntact(header: Uint8Array): boolean {
  const [start, length] = SUM;
  let [sum, signed] = [0, 0];
  for (const [index, byte] of header.entries()) {
    const counted = index >= start && index < start + length ? 32 : byte;
    sum += counted;
    signed += (counted << 24) >> 24;
  }
  const stated = numberIn(header, SUM);
  return stated === sum || stated === signed;
}

/** An octal number, or GNU's binary one, which has the highest bit of its first byte; undefined if it is neither, or negative. */
function numberIn(header: Uint8Array, [start, length]: readonly [number, number]): number | undefined {
  const field = header.subarray(start, start + length);
  if (field[0] === 0x80) {
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
    return Number.isSafeInteger(value) ? value : undefined;
  }
  const text = textOf(field).trim();
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : undefined;
}

function nameIn(header: Uint8Array): string {
  const name = textIn(header, NAME);
  const isPosix = Buffer.from(header).toString('latin1', MAGIC_AT, MAGIC_AT + POSIX_MAGIC.length) === POSIX_MAGIC;
  const prefix = isPosix ? textIn(header, PREFIX) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

function textIn(header: Uint8Array, [start, length]: readonly [number, number]): string {
  return textOf(header.subarray(start, start + length));
}

/** A text up to its NUL. */
function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** The records `length key=value` of an extended header that matter here. */
function extensionIn(bytes: Uint8Array): Extension {
  let extension: Extension = {};
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(32, at);
    const length = blank < 0 ? Number.NaN : Number(textOf(bytes.subarray(at, blank)));
    if (!Number.isInteger(length) || length <= blank - at) return extension;
    const record = new TextDecoder().decode(bytes.subarray(blank + 1, at + length - 1));
    const equals = record.indexOf('=');
    const [key, value] = [record.slice(0, equals), record.slice(equals + 1)];
    if (key === 'path') extension = { ...extension, name: value };
    if (key === 'size' && /^\d{1,15}$/.test(value)) extension = { ...extension, size: Number(value) };
    if (key.startsWith('GNU.sparse.')) extension = { ...extension, isSparse: true };
    at += length;
  }
  return extension;
}
