import { open } from 'node:fs/promises';
import { createInflateRaw } from 'node:zlib';
import { type Entry, getFileNameLowLevel, openPromise, type ZipFile } from 'yauzl';
import { DomainError } from '../../domain/errors.ts';
import { inflated, rangeChunks } from '../decompressed.ts';
import { unreadable } from '../source.ts';
import { checkedBytes } from './checked-bytes.ts';
import type { Member } from './member.ts';
import { MemberList, type NamedMember } from './member-list.ts';

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
      addEntry(list, path, entry);
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
    throw unreadable(sentence, error);
  }
}

function addEntry(list: MemberList, path: string, entry: Entry): void {
  // Takes the name from an extra field in UTF-8, if there is one, and turns separators of Windows into slashes.
  const name = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
  if (name.endsWith('/')) return;
  const type = entry.versionMadeBy >> 8 === UNIX ? (entry.externalFileAttributes >>> 16) & FILE_TYPE : 0;
  if (type !== 0 && type !== REGULAR) list.addSpecial();
  else if (entry.isEncrypted()) list.leaveOut(name, 'encryption');
  else if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    list.leaveOut(name, 'an unknown method of compression');
  } else list.add(name, entry.uncompressedSize, (named) => memberAt(path, entry, named));
}

/** A member of a zip file. Its sizes and checksum are those of the central directory: a data descriptor after it only repeats them. */
function memberAt(path: string, entry: Entry, named: NamedMember): Member {
  // Not `entry`, which has the other fields and the comment of each member.
  const { compressedSize, uncompressedSize, crc32, relativeOffsetOfLocalHeader } = entry;
  const isDeflated = entry.compressionMethod === DEFLATED;
  return {
    ...named,
    storedBytes: compressedSize,
    stored: async () => {
      const start = await startAfterHeader(path, relativeOffsetOfLocalHeader, named.label);
      return await rangeChunks(path, { start, end: start + compressedSize });
    },
    unpacked: (stored) =>
      checkedBytes(isDeflated ? inflated(stored, createInflateRaw()) : stored, uncompressedSize, crc32),
  };
}

/** The place of a member's bytes, whose local header is at `at`. */
async function startAfterHeader(path: string, at: number, label: string): Promise<number> {
  const header = Buffer.alloc(LOCAL_HEADER_BYTES);
  await using file = await open(path, 'r');
  const { bytesRead } = await file.read(header, 0, LOCAL_HEADER_BYTES, at);
  if (bytesRead < LOCAL_HEADER_BYTES || header.readUInt32LE(0) !== LOCAL_HEADER) {
    throw unreadable(`${label} is not where the zip file says: it is damaged`);
  }
  return at + LOCAL_HEADER_BYTES + header.readUInt16LE(NAME_LENGTH_AT) + header.readUInt16LE(EXTRA_LENGTH_AT);
}
