import { checkpoint } from '../decompressed.ts';
import { SqliteFile, type SqliteSelection } from '../parse/sqlite.ts';
import type { RowSource } from './row-source.ts';

/** Rows that are read between two turns of the event loop, in which a signal can stop the import. */
const ROWS_PER_TURN = 256;

/** The rows of a SQLite table, or of a query. `copy`: where the file's bytes are, if not at `path`. */
export function sqliteRows(path: string, selection: SqliteSelection, copy?: string): RowSource {
  return {
    read: async (columns, take) => {
      using file = SqliteFile.open(path, copy);
      let number = 0;
      for (const fields of file.rows(selection, columns)) {
        number += 1;
        take({ number, fields });
        if (number % ROWS_PER_TURN !== 0) continue;
        file.refuseChange();
        await checkpoint(undefined);
      }
      file.refuseChange();
    },
  };
}
