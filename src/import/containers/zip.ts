import { open } from 'node:fs/promises';
import { createInflateRaw } from 'node:zlib';
import { type Entry, getFileNameLowLevel, openPromise, type ZipFile } from 'yauzl';
import { DomainError } from '../../domain/errors.ts';
import { inflated, rangeChunks } from '../decompressed.ts';
import { checkedBytes } from './checked-bytes.ts';
import type { Member } from './member.ts';
import { MemberList } from './member-list.ts';

/** Methods of compression (APPNOTE 4.4.5). */
const [STORED, DEFLATED] = [0, 8];
/** The local header before the bytes of a member (APPNOTE 4.3.7): its size without name and extra field, whose lengths it has. */
const [LOCAL_HEADER_BYTES, NAME_LENGTH_AT, EXTRA_LENGTH_AT] = [30, 26, 28];
const LOCAL_HEADER = 0x04034b50;
/** `version made by` of Unix (APPNOTE 4.4.2): the upper half of the external attributes is the mode of the file. */
const UNIX = 3;
const [FILE_TYPE, REGULAR] = [0o170000, 0o100000];

/**
 * Lists the members of a zip file (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT) by its central directory alone: bytes
 * between members are not read. Throws 'unreadable' if the file has no such directory at its end.
 */
export async function zipMembers(path: string, label: string): Promise<MemberList> {
  const list = new MemberList(label);
  const zip = await directoryOf(path, label);
  const { fileSize } = zip;
  let stored = 0;
  try {
    list.count(zip.entryCount);
    for await (const entry of zip.eachEntry()) {
      stored += entry.compressedSize;
      // Members that share bytes would expand to many times the file.
      if (stored > fileSize) {
        list.setDamage('its members overlap');
        break;
      }
      addEntry(entry, { list, path, label });
    }
  } catch (error) {
    if (error instanceof DomainError || !(error instanceof Error)) throw error;
    list.setDamage(error.message);
  } finally {
    zip.close();
  }
  return list;
}

async function directoryOf(path: string, label: string): Promise<ZipFile> {
  try {
    return await openPromise(path, { autoClose: false, decodeStrings: false, validateEntrySizes: false });
  } catch (error) {
    const sentence = `${label} has no list of its members at its end: it is damaged or cut off, get it again`;
    throw new DomainError('unreadable', sentence, { cause: error });
  }
}

interface ListedZip {
  readonly list: MemberList;
  readonly path: string;
  readonly label: string;
}

function addEntry(entry: Entry, { list, path, label }: ListedZip): void {
  // Takes the name from an extra field in UTF-8, if there is one, and turns separators of Windows into slashes.
  const name = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
  if (name.endsWith('/')) return;
  const type = entry.versionMadeBy >> 8 === UNIX ? (entry.externalFileAttributes >>> 16) & FILE_TYPE : 0;
  if (type !== 0 && type !== REGULAR) list.addSpecial();
  else if (entry.isEncrypted()) list.leaveOut(name, 'encryption');
  else if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    list.leaveOut(name, 'an unknown method of compression');
  } else
    list.add(
      name,
      entry.uncompressedSize,
      (safe) => new ZipMember(path, `'${label.slice(1, -1)}/${safe}'`, safe, entry),
    );
}

/** A member of a zip file. Its sizes and checksum are those of the central directory: a data descriptor after it only repeats them. */
class ZipMember implements Member {
  readonly label: string;
  readonly name: string;
  readonly storedBytes: number;
  readonly #path: string;
  readonly #headerAt: number;
  readonly #isDeflated: boolean;
  readonly #size: number;
  readonly #crc: number;

  constructor(path: string, label: string, name: string, entry: Entry) {
    this.label = label;
    this.name = name;
    this.storedBytes = entry.compressedSize;
    this.#path = path;
    this.#headerAt = entry.relativeOffsetOfLocalHeader;
    this.#isDeflated = entry.compressionMethod === DEFLATED;
    this.#size = entry.uncompressedSize;
    this.#crc = entry.crc32;
  }

  async stored(): Promise<AsyncIterable<Uint8Array>> {
    const header = Buffer.alloc(LOCAL_HEADER_BYTES);
    await using file = await open(this.#path, 'r');
    const { bytesRead } = await file.read(header, 0, LOCAL_HEADER_BYTES, this.#headerAt);
    if (bytesRead < LOCAL_HEADER_BYTES || header.readUInt32LE(0) !== LOCAL_HEADER) {
      throw new DomainError('unreadable', `${this.label} is not where the zip file says: it is damaged`);
    }
    const lengths = header.readUInt16LE(NAME_LENGTH_AT) + header.readUInt16LE(EXTRA_LENGTH_AT);
    const start = this.#headerAt + LOCAL_HEADER_BYTES + lengths;
    return await rangeChunks(this.#path, { start, end: start + this.storedBytes });
  }

  unpacked(stored: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    return checkedBytes(this.#isDeflated ? inflated(stored, createInflateRaw()) : stored, this.#size, this.#crc);
  }
}
