import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Importer } from '../../../src/import/importer.ts';
import { checkedMapping } from '../../../src/import/mapping/checked-mapping.ts';
import type { ImportReport } from '../../../src/import/report.ts';
import { sourcesOf } from '../../../src/import/source.ts';
import type { Archive } from '../../../src/store/archive.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../../support/archive.ts';

/** The name of mappings in messages. */
export const MAPPING_NAME = 'my.toml';

export function mappingOf(toml: string) {
  return checkedMapping({ ...Bun.TOML.parse(toml) }, MAPPING_NAME);
}

/** The sentence with which a mapping is refused; undefined if it is accepted. */
export function refusalOfMapping(toml: string): string | undefined {
  try {
    mappingOf(toml);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Imports a file with this name and content as the mapping describes it. */
export async function importMapped(
  archive: Archive,
  toml: string,
  content: string | Uint8Array,
  name = 'rows.csv',
): Promise<ImportReport> {
  using directory = temporaryDirectory();
  const path = join(directory.path, name);
  writeFileSync(path, content);
  return await new Importer(archive, { clock: () => NOW_MS, mapping: mappingOf(toml) }).run(sourcesOf([path]));
}

/** The reasons for the rejections of a file, in order. */
export async function rejectionsOf(toml: string, content: string, name?: string): Promise<readonly string[]> {
  using place = temporaryArchive();
  const { rejections } = await importMapped(place.archive, toml, content, name);
  return rejections.map(({ reason }) => reason);
}
