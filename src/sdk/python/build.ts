import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Wheel {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const PACKAGE = 'bookreel';
/** 1980-01-01, the earliest date of a ZIP file: the same sources give the same bytes. */
const DOS_DATE = 0x21;
const REGULAR_FILE_MODE = 0o100644 << 16;
const UTF8_NAMES = 0x800;
const MADE_ON_UNIX = 0x314;

/**
 * The wheel of the Python package (packaging.python.org, binary distribution format 1.0), with the files of `directory`, which has the package:
 * a ZIP file without compression, since `/sdk` is compressed by its answer.
 */
export function pythonWheel(version: string, directory: string = import.meta.dir): Wheel {
  const info = `${PACKAGE}-${version}.dist-info`;
  const sources = readdirSync(join(directory, PACKAGE))
    .filter((file) => file.endsWith('.py') || file === 'py.typed')
    .sort()
    .map((file) => [`${PACKAGE}/${file}`, readFileSync(join(directory, PACKAGE, file))] as const);
  const files: (readonly [string, Buffer])[] = [
    ...sources,
    [`${info}/METADATA`, Buffer.from(metadataOf(version))],
    [
      `${info}/WHEEL`,
      Buffer.from('Wheel-Version: 1.0\nGenerator: bookreel\nRoot-Is-Purelib: true\nTag: py3-none-any\n'),
    ],
  ];
  const record = files.map(
    ([name, bytes]) => `${name},sha256=${createHash('sha256').update(bytes).digest('base64url')},${bytes.length}\n`,
  );
  files.push([`${info}/RECORD`, Buffer.from(`${record.join('')}${info}/RECORD,,\n`)]);
  return { name: `${PACKAGE}-${version}-py3-none-any.whl`, bytes: zipOf(files) };
}

function metadataOf(version: string): string {
  const fields = [
    ['Metadata-Version', '2.1'],
    ['Name', PACKAGE],
    ['Version', version],
    ['Summary', 'Recorded order books of up-or-down prediction markets, from a bookreel service or a local archive'],
    ['License', 'MIT'],
    ['Requires-Python', '>=3.10'],
    ['Requires-Dist', 'httpx>=0.23'],
    ...[
      ['polars', 'polars'],
      ['pandas', 'pandas, pyarrow'],
      ['arrow', 'pyarrow'],
    ].flatMap(([extra, packages]) => [
      ['Provides-Extra', extra],
      ...packages!.split(', ').map((name) => ['Requires-Dist', `${name}; extra == "${extra}"`]),
    ]),
  ];
  return fields.map(([name, value]) => `${name}: ${value}\n`).join('');
}

/** A ZIP file of stored files (APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16). */
function zipOf(files: readonly (readonly [string, Buffer])[]): Uint8Array {
  const local: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, bytes] of files) {
    const path = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(UTF8_NAMES, 2);
    common.writeUInt16LE(DOS_DATE, 8);
    common.writeUInt32LE(Bun.hash.crc32(bytes), 10);
    common.writeUInt32LE(bytes.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(path.length, 22);
    const opening = Buffer.from('PK\x03\x04');
    local.push(opening, common, path, bytes);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE(REGULAR_FILE_MODE >>> 0, 6);
    entry.writeUInt32LE(offset, 10);
    const madeBy = Buffer.alloc(2);
    madeBy.writeUInt16LE(MADE_ON_UNIX);
    central.push(Buffer.from('PK\x01\x02'), madeBy, common, entry, path);
    offset += opening.length + common.length + path.length + bytes.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return new Uint8Array(Buffer.concat([...local, directory, Buffer.from('PK\x05\x06'), end]));
}
