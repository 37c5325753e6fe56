import { Database as Sqlite } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { createProgram } from '../../src/cli/program.ts';
import { queriesOf } from '../../src/store/queries.ts';
import sealedSchema from '../../src/store/sealed.sql' with { type: 'text' };
import { PROGRESS_SCHEMA } from '../../src/verify/progress.ts';
import { importRecords, type TemporaryArchive, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { runCommand } from '../support/command.ts';
import { sampleCoinPrice, sampleGap, sampleMarket, sampleSnapshot } from '../support/sample-records.ts';

const { slug } = sampleMarket();
const EMAIL = 'ada@example.com';
const scratch = temporaryDirectory();
afterAll(() => scratch[Symbol.dispose]());
const at = (name: string) => join(scratch.path, name);

/** Every command that opens a database, with its arguments, in an order in which each one succeeds. `KEY`: the id of a key. */
const COMMANDS: readonly (readonly [command: string, ...args: string[]])[] = [
  ['import', at('more.ndjson')],
  ['seed', '--fixtures', at('more.ndjson')],
  ['account create', EMAIL, '--admin'],
  ['account create', 'bob@example.com', '--admin'],
  ['account grant', EMAIL, '--tier', 'pro'],
  ['account email', EMAIL, 'eve@example.com'],
  ['account list', '--search', 'eve'],
  ['account show', 'eve@example.com'],
  ['account link', 'eve@example.com', '--public-url', 'http://127.0.0.1:8080'],
  ['account sessions', 'eve@example.com', '--end-all'],
  ['account passkeys', 'eve@example.com'],
  ['account role', 'eve@example.com', 'user'],
  ['account disable', 'eve@example.com'],
  ['account enable', 'eve@example.com'],
  ['key create', '--account', 'eve@example.com'],
  ['key list'],
  ['key set', 'KEY', '--rpm', '5'],
  ['key rotate', 'KEY'],
  ['key revoke', 'KEY'],
  ['key revoked'],
  ['account delete', 'eve@example.com'],
  ['tier add', 'desk', '--name', 'Desk', '--coins', 'btc', '--routes', 'all', '--rpm', '5'],
  ['tier set', 'desk', '--rpm', '6'],
  ['tier show', 'desk'],
  ['tier list'],
  ['tier retire', 'desk'],
  ['usage'],
  ['audit', '--account', 'bob@example.com'],
  ['billing list'],
  ['status', '--records'],
  ['markets', '--limit', '5'],
  ['export', '-o', at('all.ndjson')],
  ['show', slug],
  ['plot', slug, '-o', at('map.svg')],
  ['seal', '--before', '1d'],
  ['verify'],
  ['backup', at('backup')],
  ['backup', at('backups'), '--keep', '1'],
  ['restore', at('backup'), '--market', slug, '--force'],
  ['restore', at('backup'), '--day', '2026-04-16', '--force'],
  ['restore', at('backup'), '--force'],
  ['config check'],
  ['doctor'],
  ['delete', '--coin', 'btc', '--before', '2026-05-01', '--all'],
];
/** Commands without a database, those of replays and backtests, the recorder, which imports, and those whose statements other tests plan: of serving, of publishing, and of payments. */
const OTHERS =
  /^(?:serve|mcp|replay \w+|paper \w+|backtest|record \w+|inspect|billing \w+|account unlink|publish \w+|config show|health|metrics|completion|licenses|manual|openapi|version)$/;

/** Statements that sort what an index finds, by their beginning, and how few rows that is. */
const SORTING: readonly (readonly [begins: string, why: string])[] = [
  ['SELECT grant_id', 'the grants of one account'],
  ['SELECT session_id', 'the sessions of one account'],
  ['SELECT series_id, kind', 'the series of one market'],
  ['SELECT key_id', 'the keys of one account'],
];
/** Statements that read a whole table, by their beginning, and why they may. */
const READING_ALL: readonly (readonly [begins: string, why: string])[] = [
  ['SELECT name FROM sqlite_schema', 'the schema does not grow'],
  ['SELECT COUNT(*) FROM sqlite_schema', 'the schema does not grow'],
  ['SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema', 'the schema does not grow'],
  ['SELECT archive_id FROM archive', 'the table has one row'],
  ['SELECT 1 AS known FROM replica', 'the table has one row'],
  ['SELECT (SELECT COUNT(*) FROM changed_markets', 'the table "publication" has one row'],
  ['INSERT INTO tiers', 'replacing a tier would look for its rows; a tier that exists is left as it is'],
  ['SELECT seal FROM sealed', 'the table has one row'],
  ['SELECT series_id AS seriesId, MIN(first_ms)', 'verify counts all records of a sealed market'],
  ['SELECT tier_id, name', 'lists the tiers, which are few'],
  ['SELECT 1 FROM api_keys LIMIT 1', 'reads one row'],
  ['SELECT key_id', 'key list and usage list all keys'],
  ['SELECT account_id AS id', 'key revoked lists all accounts that are disabled'],
  ['SELECT account_id AS accountId', 'tier show and retire list all accounts of the tier'],
  ['SELECT symbol, COUNT(*) AS gaps', 'status counts all gaps'],
  ['SELECT kind, SUM(records)', 'status --records counts all records'],
  ['SELECT COUNT(*) AS markets, IFNULL(SUM(bytes)', 'status counts all sealed markets'],
  ['SELECT COUNT(*) AS markets, MIN(end_ms)', 'doctor counts all markets that are not sealed'],
  ['SELECT COUNT(*) AS markets FROM markets', 'verify counts all markets'],
  ['SELECT market_key AS key FROM markets WHERE start_ms >= ?', 'restore --day reads the markets of a backup once'],
  ['SELECT 1 AS known WHERE (SELECT archive_id', 'restore compares all ranges of ids once'],
  ['SELECT DISTINCT account_id', 'verify compares all accounts'],
  ['SELECT DISTINCT key_id', 'verify compares all keys'],
  ['SELECT first_id', 'verify reads all ranges of ids'],
  ['SELECT (SELECT COUNT(*) FROM sessions)', 'backup counts everything'],
  ['SELECT (SELECT COUNT(*) FROM accounts)', 'backup counts everything'],
  ['SELECT (SELECT COUNT(*) FROM markets)', 'backup counts everything'],
  ['SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM markets LIMIT', 'delete reads one market more than it deletes'],
];

let place: TemporaryArchive;
/** The statements that commands run, with the commands. */
const statements = new Map<string, Set<string>>();
beforeAll(async () => {
  place = temporaryArchive();
  writeFileSync(at('more.ndjson'), lines(sampleMarket(), sampleSnapshot()));
  await importRecords(place.archive, [sampleMarket(), sampleSnapshot(), sampleGap(), sampleCoinPrice()]);
  place.archive.database.close();
  let key = '';
  for (const [command, ...args] of COMMANDS) {
    const given = [...command.split(' '), ...args.map((word) => (word === 'KEY' ? key : word)), '--data', place.path];
    using _ = noting((sql) => statements.getOrInsertComputed(sql, () => new Set()).add(command));
    const { code, stdout, stderr } = await runCommand([...given, '--json']);
    if (code !== 0) throw new Error(`${given.join(' ')} ended with ${code}: ${stderr}`);
    if (command === 'key create' || command === 'key rotate') key = (JSON.parse(stdout) as { id: string }).id;
  }
});

function lines(...records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

/** Calls `note` with each statement that is run until `Symbol.dispose`. */
function noting(note: (sql: string) => void): Disposable {
  const { query } = Sqlite.prototype;
  const noted = new WeakSet<object>();
  const notedQuery = function (this: Sqlite, sql: string) {
    const statement = query.call(this, sql);
    if (noted.has(statement) || !/^\s*(?:SELECT|WITH|INSERT|UPDATE|DELETE)\b/.test(sql)) return statement;
    noted.add(statement);
    for (const name of ['all', 'get', 'run'] as const) {
      const run = statement[name].bind(statement) as (...given: unknown[]) => unknown;
      const notedRun = (...given: unknown[]) => {
        note(sql.replaceAll(/\s+/g, ' ').trim());
        return run(...given);
      };
      Object.assign(statement, { [name]: notedRun });
    }
    return statement;
  };
  Object.assign(Sqlite.prototype, { query: notedQuery });
  return { [Symbol.dispose]: () => void Object.assign(Sqlite.prototype, { query }) };
}

test('every command that opens a database is tried', async () => {
  const tried = new Set(COMMANDS.map(([command]) => command));
  expect(
    leavesOf(await createProgram(captured())).filter((command) => !tried.has(command) && !OTHERS.test(command)),
  ).toEqual([]);
});

test('Commands find what they read by an index, except where they read all of it or few rows.', () => {
  const plans = [...statements].map(([sql, commands]) => ({ sql, commands: [...commands], plan: planOf(sql) }));
  for (const [pattern, exceptions] of [
    [/\bSCAN\b|AUTOMATIC/, READING_ALL],
    [/^(?!.*\bSCAN\b).*TEMP B-TREE/, SORTING],
  ] as const) {
    const found = plans.filter(({ plan }) => pattern.test(plan));
    expect(found.filter(({ sql }) => !exceptions.some(([begins]) => sql.startsWith(begins)))).toEqual([]);
    expect(exceptions.filter(([begins]) => !found.some(({ sql }) => sql.startsWith(begins)))).toEqual([]);
  }
});

function leavesOf(command: CommandUnknownOpts, words: readonly string[] = []): string[] {
  if (command.commands.length === 0) return [words.join(' ')];
  return command.commands.flatMap((child) => leavesOf(child, [...words, child.name()]));
}

/** The steps of a plan; those of tables that the statement makes itself are left out. */
function planOf(sql: string): string {
  using held = temporaryArchive();
  using backup = temporaryArchive();
  using sealed = new Sqlite(':memory:');
  sealed.run(sealedSchema);
  using progress = new Sqlite(':memory:');
  progress.run(PROGRESS_SCHEMA);
  held.archive.database.query('ATTACH ? AS backup').run(backup.archive.database.path);
  for (const database of [
    held.archive.database,
    held.registry.database,
    held.activity.database,
    ...[sealed, progress].map(queriesOf),
  ]) {
    try {
      return database
        .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => detail)
        .filter((detail) => !/^SCAN (?:CONSTANT ROW|coins$|\(subquery)/.test(detail))
        .join('; ');
    } catch {
      // A statement of another database.
    }
  }
  throw new Error(`no database knows the tables of ${sql}`);
}
