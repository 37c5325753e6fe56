import init from './0001_init.sql' with { type: 'text' };
import imports from './0002_imports.sql' with { type: 'text' };
import keysAsOf from './0003_keys_as_of.sql' with { type: 'text' };

/** In order; migration n brings the schema from version n-1 to n. One that was released is never edited. */
export const MIGRATIONS: readonly string[] = [init, imports, keysAsOf];

export const SCHEMA_VERSION = MIGRATIONS.length;
