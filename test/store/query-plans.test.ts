import { afterAll, expect, test } from 'bun:test';
import { FIND_ACCOUNT_BY_EMAIL, LIST_DELETED_ACCOUNTS, listAccountsBy } from '../../src/store/accounts.ts';
import { COUNT_USABLE_KEYS, FIND_KEY_BY_DIGEST, LIST_KEY_IDS, LIST_OWNERS_AFTER } from '../../src/store/api-keys.ts';
import * as audit from '../../src/store/audit.ts';
import { ARCHIVE_ROWS, ROWS_OF_MARKET } from '../../src/store/catalog.ts';
import { NEXT_VERSIONS } from '../../src/store/catalog-replica.ts';
import type { Database } from '../../src/store/database.ts';
import * as deletion from '../../src/store/deletion.ts';
import * as devices from '../../src/store/devices.ts';
import { LIST_IDENTITIES } from '../../src/store/identities.ts';
import { RANGE_AFTER, RANGE_AT_OR_BEFORE } from '../../src/store/ids.ts';
import { FIND_INVOICE, NAME_BUYER } from '../../src/store/invoices.ts';
import {
  FIND_KEY_CHANGE,
  FIND_KEY_ROW,
  LAST_KEY_CHANGE,
  LIST_KEY_CHANGES,
  NEXT_KEY_ROWS,
} from '../../src/store/key-feed.ts';
import * as markets from '../../src/store/markets.ts';
import { FIND_PASSKEY, LIST_PASSKEYS } from '../../src/store/passkeys.ts';
import { LIST_DUE_ENDS, LIST_DUE_RECEIPTS } from '../../src/store/payment-mails.ts';
import { LIST_OWN_TRANSACTIONS, LIST_TRANSACTIONS_OF_PAYMENT } from '../../src/store/payment-sends.ts';
import * as payments from '../../src/store/payments.ts';
import { FIRST_CHANGED, NEXT_CHANGED } from '../../src/store/publisher.ts';
import { COUNT_DAYS, COUNT_DAYS_OF_TIMEFRAME } from '../../src/store/recorded-days.ts';
import { BOOKS_OF_WINDOW, GAPS_OF_WINDOW, RECORDED_WINDOW } from '../../src/store/recorded-times.ts';
import { PRESENT_MARKET } from '../../src/store/restore-markets.ts';
import { LAST_PAYMENT_OF_TURN } from '../../src/store/revenue.ts';
import * as sealedFiles from '../../src/store/sealed-files.ts';
import { SERIES_OF_MARKET, UNSEALED_MARKETS } from '../../src/store/sealing.ts';
import { LIST_COIN_SERIES, NEXT_POSITIONS } from '../../src/store/segment-audit.ts';
import {
  COUNT_RECORDS,
  NEXT_SEGMENT,
  PREVIOUS_SEGMENT,
  RANGES_OF_SERIES,
  SEGMENTS_OF_SERIES,
} from '../../src/store/segment-queries.ts';
import { DELETE_SEGMENT } from '../../src/store/segments.ts';
import { FIND_COIN_SERIES, FIND_SERIES } from '../../src/store/series.ts';
import * as sessions from '../../src/store/sessions.ts';
import { ROWS_TOUCHING, SEGMENT_IN_ROW } from '../../src/store/short-payloads.ts';
import * as attempts from '../../src/store/sign-in-attempts.ts';
import {
  COIN_TOTAL,
  COUNT_LISTED,
  KNOWS_TIMEFRAME,
  MARKET_TOTAL,
  OPEN_MARKETS,
  UPDATE_TOTAL,
} from '../../src/store/snapshot-totals.ts';
import { LAST_OF_TURN } from '../../src/store/tier-counts.ts';
import * as undoLinks from '../../src/store/undo-links.ts';
import { LIST_UNPUBLISHED } from '../../src/store/unpublished.ts';
import { NEWEST_BOOK } from '../../src/store/upkeep.ts';
import { DELETE_OLD_USAGE, LIST_USAGE, SUM_REQUESTS } from '../../src/store/usage.ts';
import { TAKE_MAILS } from '../../src/store/waiting-mails.ts';
import { temporaryArchive } from '../support/archive.ts';

const held = temporaryArchive();
afterAll(() => held[Symbol.dispose]());

const PAYMENTS = 'SEARCH p USING';
const QUOTE = 'SEARCH q USING PRIMARY KEY (';
const REFUND = [
  'SEARCH refunds USING PRIMARY KEY (payment_id=?) LEFT-JOIN',
  'SEARCH invoices USING COVERING INDEX sqlite_autoindex_invoices_1 (payment_id=?) LEFT-JOIN',
];
const BEFORE = ['SCALAR SUBQUERY', 'SEARCH payments USING COVERING INDEX sqlite_autoindex_payments_1 ('];
const SENT_MAIL = 'SEARCH m USING PRIMARY KEY (payment_id=? AND occasion=? AND ends_ms=?)';
const MARKETS = 'SEARCH markets USING';
const GAPS = 'SEARCH gaps USING PRIMARY KEY (';
const ATTEMPTS = 'SEARCH sign_in_attempts USING';
const SEGMENTS = 'SEARCH segments USING';
const SEALED = 'SEARCH sealed_markets USING INTEGER PRIMARY KEY (rowid';

test.each<[string, string, ...string[]]>([
  ['FIND_SERIES', FIND_SERIES, 'SEARCH series USING COVERING INDEX series_by_market ('],
  ['FIND_COIN_SERIES', FIND_COIN_SERIES, 'SEARCH series USING COVERING INDEX series_by_coin ('],
  ['RANGE_AT_OR_BEFORE', RANGE_AT_OR_BEFORE, 'SEARCH given_ids USING INTEGER PRIMARY KEY (rowid<?)'],
  ['RANGE_AFTER', RANGE_AFTER, 'SEARCH given_ids USING INTEGER PRIMARY KEY (rowid>?)'],
  ['NEXT_SEGMENT', NEXT_SEGMENT, `${SEGMENTS} INDEX segments_by_position (`],
  ['PREVIOUS_SEGMENT', PREVIOUS_SEGMENT, `${SEGMENTS} INDEX segments_by_position (`],
  ['DELETE_SEGMENT', DELETE_SEGMENT, `${SEGMENTS} INDEX segments_by_position (`],
  ['LIST_COIN_SERIES', LIST_COIN_SERIES, 'SEARCH series USING INDEX series_by_coin ('],
  ['NEXT_POSITIONS', NEXT_POSITIONS, `${SEGMENTS} COVERING INDEX segments_by_position (`],
  [
    'MARKET_SIZE',
    deletion.MARKET_SIZE,
    'CO-ROUTINE',
    'COMPOUND QUERY',
    'LEFT-MOST SUBQUERY',
    'SEARCH series USING COVERING INDEX series_by_market (',
    `${SEGMENTS} INDEX segments_by_position (`,
    'UNION ALL',
    'SEARCH series USING COVERING INDEX series_by_market (',
    'SEARCH sealed_series USING PRIMARY KEY (market_key=? AND series_id=?)',
    'SCAN (subquery-2)',
  ],
  ['PRICES_SIZE', deletion.PRICES_SIZE, `${SEGMENTS} INDEX segments_by_position (`],
  [
    'DELETE_PRICES',
    deletion.DELETE_PRICES,
    `${SEGMENTS} INTEGER PRIMARY KEY (`,
    'LIST SUBQUERY',
    `${SEGMENTS} COVERING INDEX segments_by_position (`,
  ],
  [
    'DELETE_MARKET_SEGMENTS',
    deletion.DELETE_MARKET_SEGMENTS,
    `${SEGMENTS} COVERING INDEX segments_by_position (`,
    'LIST SUBQUERY',
    'SEARCH series USING COVERING INDEX series_by_market (',
  ],
  // The others are the tables that may refer to what is deleted.
  [
    'DELETE_MARKET_SERIES',
    deletion.DELETE_MARKET_SERIES,
    'SEARCH series USING COVERING INDEX series_by_market (',
    `${SEGMENTS} COVERING INDEX segments_by_position (`,
  ],
  ['DELETE_GAPS', deletion.DELETE_GAPS, 'SEARCH gaps USING PRIMARY KEY ('],
  [
    'DELETE_MARKET',
    deletion.DELETE_MARKET,
    `${MARKETS} INTEGER PRIMARY KEY`,
    SEALED,
    'SEARCH gaps USING PRIMARY KEY (',
    'SEARCH series USING COVERING INDEX series_by_market (',
    'SEARCH market_details USING INTEGER PRIMARY KEY (',
  ],
  ['LIST_MARKETS', markets.LIST_MARKETS, `${MARKETS} INDEX markets_by_coin (`],
  ['LIST_MARKETS_OF_TIMEFRAME', markets.LIST_MARKETS_OF_TIMEFRAME, `${MARKETS} INDEX markets_by_coin_and_timeframe (`],
  ['SKIP_MARKETS', markets.SKIP_MARKETS, `${MARKETS} COVERING INDEX markets_by_coin (`],
  [
    'SKIP_MARKETS_OF_TIMEFRAME',
    markets.SKIP_MARKETS_OF_TIMEFRAME,
    `${MARKETS} COVERING INDEX markets_by_coin_and_timeframe (`,
  ],
  ['WALK_MARKETS', markets.WALK_MARKETS, `${MARKETS} INDEX markets_by_coin (`, 'CORRELATED SCALAR SUBQUERY', GAPS],
  [
    'WALK_MARKETS_OF_TIMEFRAME',
    markets.WALK_MARKETS_OF_TIMEFRAME,
    `${MARKETS} INDEX markets_by_coin_and_timeframe (`,
    'CORRELATED SCALAR SUBQUERY',
    GAPS,
  ],
  [
    'WALK_RECORDED_MARKETS',
    markets.WALK_RECORDED_MARKETS,
    `${MARKETS} INDEX recorded_markets_by_coin (`,
    'CORRELATED SCALAR SUBQUERY',
    GAPS,
  ],
  [
    'WALK_EARLIEST_MARKETS',
    markets.WALK_EARLIEST_MARKETS,
    `${MARKETS} INDEX markets_by_coin (`,
    'CORRELATED SCALAR SUBQUERY',
    GAPS,
  ],
  ['SKIP_RECORDED_MARKETS', markets.SKIP_RECORDED_MARKETS, `${MARKETS} COVERING INDEX recorded_markets_by_coin (`],
  ...Object.entries(markets.SORTED_WALKS).flatMap(([sort, [ofValue, beyond]]): [string, string, ...string[]][] => {
    const steps = ['CORRELATED SCALAR SUBQUERY', GAPS];
    return [
      [`SORTED_WALKS[${sort}] of a value`, ofValue, `${MARKETS} INDEX markets_by_`, ...steps],
      [`SORTED_WALKS[${sort}] beyond`, beyond, `${MARKETS} INDEX markets_by_`, ...steps],
    ];
  }),
  ['COUNT_DAYS', COUNT_DAYS, `${MARKETS} INDEX markets_by_coin (`, 'CORRELATED SCALAR SUBQUERY', GAPS],
  [
    'COUNT_DAYS_OF_TIMEFRAME',
    COUNT_DAYS_OF_TIMEFRAME,
    `${MARKETS} INDEX markets_by_coin_and_timeframe (`,
    'CORRELATED SCALAR SUBQUERY',
    GAPS,
  ],
  ['LONGEST_WINDOW', markets.LONGEST_WINDOW, `${MARKETS} COVERING INDEX markets_by_length (`],
  [
    'RECORDED_WINDOW',
    RECORDED_WINDOW,
    `${MARKETS} INTEGER PRIMARY KEY`,
    'CORRELATED SCALAR SUBQUERY',
    'SEARCH gaps USING PRIMARY KEY (',
  ],
  ['GAPS_OF_WINDOW', GAPS_OF_WINDOW, 'SEARCH gaps USING PRIMARY KEY ('],
  ['BOOKS_OF_WINDOW', BOOKS_OF_WINDOW, 'SEARCH series USING COVERING INDEX series_by_market ('],
  ['RANGES_OF_SERIES', RANGES_OF_SERIES, `${SEGMENTS} INDEX segments_by_position (`],
  ['SEGMENTS_OF_SERIES', SEGMENTS_OF_SERIES, `${SEGMENTS} INDEX segments_by_position (`],
  ['SEGMENT_IN_ROW', SEGMENT_IN_ROW, `${SEGMENTS} INTEGER PRIMARY KEY (rowid=?)`],
  ['ROWS_TOUCHING', ROWS_TOUCHING, `${SEGMENTS} INDEX segments_by_position (`],
  [
    'PRESENT_MARKET',
    PRESENT_MARKET,
    ...['MERGE (UNION)', 'LEFT', `${MARKETS} INDEX markets_by_condition_id (<expr>=?)`],
    ...['RIGHT', `${MARKETS} COVERING INDEX markets_by_name (symbol=? AND slug=? AND start_ms=?)`],
  ],
  ['SEALED_MARKET', sealedFiles.SEALED_MARKET, SEALED],
  ['SEALED_OF_SERIES', sealedFiles.SEALED_OF_SERIES, 'SEARCH series USING INTEGER PRIMARY KEY (rowid=?)', SEALED],
  ['NEXT_SEALED', sealedFiles.NEXT_SEALED, SEALED],
  [
    'SEALED_BY_PATH',
    sealedFiles.SEALED_BY_PATH,
    'SEARCH sealed_markets USING INDEX sealed_markets_by_path (<expr>>? AND <expr><?)',
  ],
  [
    'NEXT_SEALED_PATH',
    sealedFiles.NEXT_SEALED_PATH,
    'SEARCH sealed_markets USING INDEX sealed_markets_by_path (<expr>>?)',
  ],
  ['IS_SEALED', sealedFiles.IS_SEALED, SEALED],
  ['NEXT_VERSIONS', NEXT_VERSIONS, 'SEARCH markets USING INTEGER PRIMARY KEY (rowid>?)', `${SEALED}=?) LEFT-JOIN`],
  [
    'ARCHIVE_ROWS',
    `SELECT * FROM series WHERE ${new Map(ARCHIVE_ROWS).get('series')}`,
    'SEARCH series USING INDEX series_by_coin (',
  ],
  [
    'LIST_UNPUBLISHED',
    LIST_UNPUBLISHED,
    'SCAN publication',
    'SCALAR SUBQUERY 1',
    'SEARCH changed_markets USING COVERING INDEX changed_markets_by_urgency (urgency>?)',
  ],
  ['FIRST_CHANGED', FIRST_CHANGED, 'SCAN changed_markets USING COVERING INDEX changed_markets_by_urgency'],
  ['NEXT_CHANGED', NEXT_CHANGED, 'SCAN changed_markets USING COVERING INDEX changed_markets_by_urgency'],
  ['ROWS_OF_MARKET series', ROWS_OF_MARKET('series'), 'SEARCH series USING INDEX series_by_market ('],
  ['ROWS_OF_MARKET gaps', ROWS_OF_MARKET('gaps'), GAPS],
  ['ROWS_OF_MARKET sealed_series', ROWS_OF_MARKET('sealed_series'), 'SEARCH sealed_series USING PRIMARY KEY ('],
  ['SERIES_OF_SEALED', sealedFiles.SERIES_OF_SEALED, 'SEARCH sealed_series USING PRIMARY KEY ('],
  ['SERIES_OF_MARKET', SERIES_OF_MARKET, 'SEARCH series USING COVERING INDEX series_by_market ('],
  [
    'UNSEALED_MARKETS',
    UNSEALED_MARKETS,
    `${MARKETS} INTEGER PRIMARY KEY (rowid>? AND rowid<?)`,
    'CORRELATED SCALAR SUBQUERY',
    SEALED,
    'CORRELATED SCALAR SUBQUERY',
    'SEARCH series USING COVERING INDEX series_by_market (',
    `${SEGMENTS} COVERING INDEX segments_by_position (`,
  ],
  ['NEWEST_BOOK', NEWEST_BOOK, 'SEARCH markets USING COVERING INDEX recorded_markets_by_coin'],
  [
    'SEALED_BYTES_BETWEEN',
    sealedFiles.SEALED_BYTES_BETWEEN,
    'SEARCH sealed_markets USING INDEX sealed_markets_by_path (',
  ],
  [
    'FIRST_SEALED_PATH',
    sealedFiles.FIRST_SEALED_PATH,
    'SEARCH sealed_markets USING COVERING INDEX sealed_markets_by_path',
  ],
  ['IS_REPLICA', sealedFiles.IS_REPLICA, 'SCAN replica'],
  ['IS_NAMED', sealedFiles.IS_NAMED, 'SEARCH sealed_markets USING INDEX sealed_markets_by_path ('],
  ['MARKET_TOTAL', MARKET_TOTAL, `${MARKETS} INTEGER PRIMARY KEY`],
  [
    'COUNT_LISTED',
    COUNT_LISTED,
    'SCAN CONSTANT ROW',
    'SCALAR SUBQUERY',
    `${MARKETS} COVERING INDEX markets_by_coin (`,
    'SCALAR SUBQUERY',
    `${MARKETS} INDEX markets_by_coin (`,
  ],
  ['KNOWS_TIMEFRAME', KNOWS_TIMEFRAME, `${MARKETS} INDEX markets_by_coin_and_timeframe (`],
  ['COIN_TOTAL', COIN_TOTAL, `${MARKETS} INDEX recorded_markets_by_coin (`],
  ['OPEN_MARKETS', OPEN_MARKETS, `${MARKETS} INDEX recorded_markets_by_coin (`],
  [
    'UPDATE_TOTAL',
    UPDATE_TOTAL,
    `${MARKETS} INTEGER PRIMARY KEY`,
    'SCALAR SUBQUERY',
    'SEARCH series USING COVERING INDEX series_by_market (',
    'CORRELATED SCALAR SUBQUERY',
    `${SEGMENTS} INDEX segments_by_position (`,
    'SCALAR SUBQUERY',
    'SEARCH series USING COVERING INDEX series_by_market (',
    'CORRELATED SCALAR SUBQUERY',
    `${SEGMENTS} COVERING INDEX segments_by_position (`,
  ],
  ['COUNT_RECORDS', COUNT_RECORDS, `${SEGMENTS} INDEX segments_by_position (`],
  ['FIND_MARKET', markets.FIND_MARKET, `${MARKETS} INDEX markets_by_condition_id (`],
  ['FIND_MARKET_BY_UP_ASSET', markets.FIND_MARKET_BY_UP_ASSET, `${MARKETS} INDEX markets_by_up_asset (`],
  ['FIND_MARKET_BY_DOWN_ASSET', markets.FIND_MARKET_BY_DOWN_ASSET, `${MARKETS} INDEX markets_by_down_asset (`],
  ['LIST_MARKETS_OF_SLUG', markets.LIST_MARKETS_OF_SLUG, `${MARKETS} INDEX markets_by_name (symbol=? AND slug=?)`],
  ['NEXT_MARKET', markets.NEXT_MARKET, `${MARKETS} INDEX markets_by_coin (`],
  ['NEXT_MARKET_BY_KEY', markets.NEXT_MARKET_BY_KEY, `${MARKETS} INTEGER PRIMARY KEY (`],
  [
    'LIST_COINS',
    markets.LIST_COINS,
    'CO-ROUTINE coins',
    'SETUP',
    `SEARCH markets USING COVERING INDEX`,
    'RECURSIVE STEP',
    'SCAN coins',
    'CORRELATED SCALAR SUBQUERY',
    `SEARCH markets USING COVERING INDEX`,
    'SCAN coins',
  ],
  ['KNOWS_COIN', markets.KNOWS_COIN, `${MARKETS} COVERING INDEX`],
])('%s only searches, without sorting', (_, sql, ...steps) => {
  expectPlan(held.archive.database, sql, steps);
});

test.each<[string, string, ...string[]]>([
  ['NEXT_KEY_ROWS of tiers', NEXT_KEY_ROWS[0]!, 'SEARCH tiers USING PRIMARY KEY (tier_id>?)'],
  ['NEXT_KEY_ROWS of accounts', NEXT_KEY_ROWS[1]!, 'SEARCH accounts USING INTEGER PRIMARY KEY (rowid>?)'],
  ['NEXT_KEY_ROWS of grants', NEXT_KEY_ROWS[2]!, 'SEARCH grants USING PRIMARY KEY (grant_id>?)'],
  ['NEXT_KEY_ROWS of keys', NEXT_KEY_ROWS[3]!, 'SEARCH api_keys USING INDEX sqlite_autoindex_api_keys_1 (key_id>?)'],
  ['FIND_KEY_ROW of a key', FIND_KEY_ROW[3]!, 'SEARCH api_keys USING INDEX sqlite_autoindex_api_keys_1 (key_id=?)'],
  ['LAST_KEY_CHANGE', LAST_KEY_CHANGE, 'SEARCH key_changes'],
  ['FIND_KEY_CHANGE', FIND_KEY_CHANGE, 'SEARCH key_changes USING INTEGER PRIMARY KEY (rowid=?)'],
  [
    'LIST_KEY_CHANGES',
    LIST_KEY_CHANGES,
    'SEARCH key_changes USING INTEGER PRIMARY KEY (rowid>?)',
    'USE TEMP B-TREE FOR DISTINCT',
  ],
  [
    'FIND_KEY_BY_DIGEST',
    FIND_KEY_BY_DIGEST,
    'SEARCH api_keys USING INDEX',
    'SEARCH accounts USING INTEGER PRIMARY KEY',
  ],
  ['FIND_ACCOUNT_BY_EMAIL', FIND_ACCOUNT_BY_EMAIL, 'SEARCH accounts USING INDEX accounts_by_email ('],
  ['listAccountsBy created', listAccountsBy('created'), 'SEARCH accounts USING INTEGER PRIMARY KEY ('],
  ['listAccountsBy address', listAccountsBy('-address'), 'SEARCH accounts USING INDEX accounts_by_email ('],
  ['FIND_UNDO_LINK', undoLinks.FIND_UNDO_LINK, 'SEARCH undo_links USING PRIMARY KEY ('],
  ['COUNT_UNDO_LINKS', undoLinks.COUNT_UNDO_LINKS, 'SEARCH undo_links USING COVERING INDEX undo_links_by_account ('],
  ['SET_UNDO_EMAIL', undoLinks.SET_UNDO_EMAIL, 'SEARCH undo_links USING INDEX undo_links_by_account ('],
  ['DELETE_UNDO_LINKS', undoLinks.DELETE_UNDO_LINKS, 'SEARCH undo_links USING INDEX undo_links_by_account ('],
  ['DELETE_OLD_UNDO_LINKS', undoLinks.DELETE_OLD_UNDO_LINKS, 'SEARCH undo_links USING INDEX undo_links_by_creation ('],
  ['LIST_IDENTITIES', LIST_IDENTITIES, 'SEARCH identities USING INDEX identities_by_account ('],
  ['FIND_PASSKEY', FIND_PASSKEY, 'SEARCH passkeys USING INDEX sqlite_autoindex_passkeys_2 ('],
  ['LIST_PASSKEYS', LIST_PASSKEYS, 'SEARCH passkeys USING INDEX passkeys_by_account ('],
  ['LIST_DELETED_ACCOUNTS', LIST_DELETED_ACCOUNTS, 'SEARCH accounts USING COVERING INDEX accounts_by_deletion ('],
  ['LIST_AUDIT', audit.LIST_AUDIT, 'SEARCH audit USING INDEX audit_by_time (at_ms>? AND at_ms<?)'],
  [
    'LIST_AUDIT_OF_ACCOUNT',
    audit.LIST_AUDIT_OF_ACCOUNT,
    'SEARCH audit USING INDEX audit_by_account (account_id=? AND at_ms>? AND at_ms<?)',
  ],
  [
    'LIST_AUDIT_OF_ACTION',
    audit.LIST_AUDIT_OF_ACTION,
    'SEARCH audit USING INDEX audit_by_action (action=? AND at_ms>? AND at_ms<?)',
  ],
  [
    'LIST_AUDIT_OF_ACCOUNT_AND_ACTION',
    audit.LIST_AUDIT_OF_ACCOUNT_AND_ACTION,
    'SEARCH audit USING INDEX audit_by_account (account_id=? AND at_ms>? AND at_ms<?)',
  ],
  [
    'LAST_PAYMENT_OF_TURN',
    LAST_PAYMENT_OF_TURN,
    'CO-ROUTINE (subquery-',
    'SEARCH payments USING INTEGER PRIMARY KEY (rowid>?)',
    'SEARCH (subquery-',
  ],
  [
    'LAST_OF_TURN',
    LAST_OF_TURN,
    'CO-ROUTINE (subquery-',
    'SEARCH accounts USING INTEGER PRIMARY KEY (rowid>?)',
    'SEARCH (subquery-',
  ],
  [
    'LIST_OWNERS_AFTER',
    LIST_OWNERS_AFTER,
    'SEARCH api_keys USING INDEX api_keys_by_account (account_id>?)',
    'SEARCH accounts USING INTEGER PRIMARY KEY (rowid=?)',
    'CORRELATED SCALAR SUBQUERY',
    'CO-ROUTINE (subquery-',
    'SEARCH grants USING INDEX grants_by_account (account_id=?)',
    'SEARCH tiers USING PRIMARY KEY (tier_id=?)',
    // One row: the tier of the account.
    'SCAN (subquery-',
  ],
  ['COUNT_USABLE_KEYS', COUNT_USABLE_KEYS, 'SEARCH api_keys USING INDEX api_keys_by_account (account_id=?)'],
  ['LIST_KEY_IDS', LIST_KEY_IDS, 'SEARCH api_keys USING INDEX api_keys_by_account (account_id=?)'],
  [
    'COUNT_STRANGER',
    audit.COUNT_STRANGER,
    'SEARCH audit USING INTEGER PRIMARY KEY (rowid=?)',
    'SCALAR SUBQUERY',
    'SEARCH audit USING INDEX audit_of_strangers (action=? AND account_id=? AND at_ms>? AND at_ms<?)',
  ],
  [
    'FORGET_CLIENTS',
    audit.FORGET_CLIENTS,
    'MULTI-INDEX OR',
    'INDEX 1',
    'SEARCH audit USING INDEX audit_by_actor (actor_id=?)',
    'INDEX 2',
    'SEARCH audit USING INDEX audit_by_account (account_id=?)',
  ],
  ['LIST_PERSONAL_DETAILS', audit.LIST_PERSONAL_DETAILS, 'SEARCH audit USING INDEX audit_by_account (account_id=?)'],
  ['FIND_PAYMENT', payments.FIND_PAYMENT, `${PAYMENTS} INDEX sqlite_autoindex_payments_3 (`, QUOTE, ...REFUND],
  [
    'FIND_PAYMENT_OF_QUOTE',
    payments.FIND_PAYMENT_OF_QUOTE,
    QUOTE,
    `${PAYMENTS} INDEX sqlite_autoindex_payments_2 (`,
    ...REFUND,
  ],
  [
    'FIND_IDENTIFIED_PAYMENT',
    payments.FIND_IDENTIFIED_PAYMENT,
    `${PAYMENTS} INDEX sqlite_autoindex_payments_1 (`,
    'SCALAR SUBQUERY',
    'SEARCH i USING PRIMARY KEY (account_id=? AND identifier=?)',
    QUOTE,
    ...REFUND,
  ],
  ['LIST_PAYMENTS', payments.LIST_PAYMENTS, `${PAYMENTS} INTEGER PRIMARY KEY (`, ...BEFORE, QUOTE, ...REFUND],
  ['LIST_OPEN_PAYMENTS', payments.LIST_OPEN_PAYMENTS, `${PAYMENTS} INDEX open_payments (`, ...BEFORE, QUOTE, ...REFUND],
  [
    'LIST_UNFINISHED_PAYMENTS',
    payments.LIST_UNFINISHED_PAYMENTS,
    `${PAYMENTS} INTEGER PRIMARY KEY (`,
    ...BEFORE,
    QUOTE,
    ...REFUND,
  ],
  [
    'LIST_TRANSACTIONS_OF_PAYMENT',
    LIST_TRANSACTIONS_OF_PAYMENT,
    'SEARCH payment_transactions USING INDEX payment_transactions_by_payment (',
  ],
  [
    'LIST_OWN_TRANSACTIONS',
    LIST_OWN_TRANSACTIONS,
    'SEARCH t USING INDEX payment_transactions_by_nonce (',
    'SEARCH payments USING INDEX sqlite_autoindex_payments_1 (',
  ],
  [
    'FIND_UNDERWAY',
    payments.FIND_UNDERWAY,
    `${PAYMENTS} INDEX payments_by_account (`,
    QUOTE,
    ...REFUND,
    'SEARCH payment_sends USING PRIMARY KEY (',
  ],
  ['FIND_INVOICE', FIND_INVOICE, 'SEARCH invoices USING INDEX sqlite_autoindex_invoices_1 ('],
  [
    'NAME_BUYER',
    NAME_BUYER,
    'SEARCH invoices USING INDEX sqlite_autoindex_invoices_1 (',
    'LIST SUBQUERY',
    'SEARCH payments USING INDEX payments_by_account (',
  ],
  [
    'LIST_DUE_RECEIPTS',
    LIST_DUE_RECEIPTS,
    `${PAYMENTS} INDEX payments_by_settlement (settled_ms>?)`,
    'CORRELATED SCALAR SUBQUERY',
    SENT_MAIL,
    'SEARCH a USING INTEGER PRIMARY KEY (',
    QUOTE,
    'SEARCH t USING PRIMARY KEY (',
    'SEARCH g USING INDEX grants_by_account (',
  ],
  [
    'LIST_DUE_ENDS',
    LIST_DUE_ENDS,
    'SEARCH g USING INDEX paid_grants_by_end (ends_ms>? AND ends_ms<?)',
    'SEARCH a USING INTEGER PRIMARY KEY (',
    `${PAYMENTS} INDEX sqlite_autoindex_payments_1 (`,
    'CORRELATED SCALAR SUBQUERY',
    SENT_MAIL,
    QUOTE,
    'SEARCH t USING PRIMARY KEY (',
    'CORRELATED SCALAR SUBQUERY',
    'SEARCH later USING INDEX grants_by_account (',
    'SEARCH o USING PRIMARY KEY (',
  ],
  ['COUNT_PENDING_PAYMENTS', payments.COUNT_PENDING_PAYMENTS, 'SEARCH payments USING INDEX open_payments ('],
  [
    'LIST_PAYMENTS_OF_ACCOUNT',
    payments.LIST_PAYMENTS_OF_ACCOUNT,
    `${PAYMENTS} INDEX payments_by_account (account_id=? AND sequence<?)`,
    ...BEFORE,
    QUOTE,
    ...REFUND,
  ],
  [
    'FIND_OPEN_QUOTE',
    payments.FIND_OPEN_QUOTE,
    'SEARCH q USING INDEX payment_quotes_by_account (',
    'CORRELATED SCALAR SUBQUERY',
    `${PAYMENTS} INDEX sqlite_autoindex_payments_2 (`,
  ],
  [
    'DELETE_OLD_QUOTES',
    payments.DELETE_OLD_QUOTES,
    'SEARCH payment_quotes USING INDEX payment_quotes_by_end (',
    'CORRELATED SCALAR SUBQUERY',
    `${PAYMENTS} INDEX sqlite_autoindex_payments_2 (`,
    // The reference of payments to quotes.
    'SEARCH payments USING COVERING INDEX sqlite_autoindex_payments_2 (',
  ],
])('%s of accounts.db only searches, without sorting', (_, sql, ...steps) => {
  expectPlan(held.registry.database, sql, steps);
});

test.each<[string, string, ...string[]]>([
  [
    'LIST_USAGE',
    LIST_USAGE,
    'SEARCH usage USING PRIMARY KEY (key_id=? AND interval_ms=? AND start_ms>? AND start_ms<?)',
  ],
  [
    'SUM_REQUESTS',
    SUM_REQUESTS,
    'SEARCH usage USING PRIMARY KEY (key_id=? AND interval_ms=? AND start_ms>? AND start_ms<?)',
  ],
  ['DELETE_OLD_USAGE', DELETE_OLD_USAGE, 'SEARCH usage USING INDEX usage_by_start (interval_ms=? AND start_ms<?)'],
  [
    'FIND_SESSION_BY_DIGEST',
    sessions.FIND_SESSION_BY_DIGEST,
    'SEARCH sessions USING INDEX sqlite_autoindex_sessions_2 (',
  ],
  ['DELETE_IDLE_SESSIONS', sessions.DELETE_IDLE_SESSIONS, 'SEARCH sessions USING INDEX sessions_by_last_use ('],
  ['TAKE_MAILS', TAKE_MAILS, 'SEARCH waiting_mails USING INDEX waiting_mails_by_next_try ('],
  ['FIND_ATTEMPT_BY_LINK', attempts.FIND_ATTEMPT_BY_LINK, `${ATTEMPTS} INDEX sqlite_autoindex_sign_in_attempts_2 (`],
  [
    'FIND_ATTEMPT_BY_BROWSER',
    attempts.FIND_ATTEMPT_BY_BROWSER,
    `${ATTEMPTS} INDEX sqlite_autoindex_sign_in_attempts_3 (`,
  ],
  ['COUNT_ATTEMPTS_BY_CLIENT', attempts.COUNT_ATTEMPTS_BY_CLIENT, `${ATTEMPTS} INDEX sign_in_attempts_by_client (`],
  ['COUNT_ATTEMPTS_BY_NETWORK', attempts.COUNT_ATTEMPTS_BY_NETWORK, `${ATTEMPTS} INDEX sign_in_attempts_by_network (`],
  ['COUNT_ATTEMPTS_BY_DEVICE', attempts.COUNT_ATTEMPTS_BY_DEVICE, `${ATTEMPTS} INDEX sign_in_attempts_by_device (`],
  ['COUNT_ATTEMPTS_WITH_ADDRESS', attempts.COUNT_ATTEMPTS_WITH_ADDRESS, `${ATTEMPTS} INDEX sign_in_attempts_by_`],
  ['COUNT_MAILS_TO', attempts.COUNT_MAILS_TO, `${ATTEMPTS} INDEX sign_in_attempts_by_base (`],
  ['FIND_LAST_MAIL', attempts.FIND_LAST_MAIL, `${ATTEMPTS} INDEX sign_in_attempts_by_base (`],
  ['WRONG_CODES_WITH_ADDRESS', attempts.WRONG_CODES_WITH_ADDRESS, `${ATTEMPTS} INDEX sign_in_attempts_by_base (`],
  ['WRONG_CODES_OF_NETWORK', attempts.WRONG_CODES_OF_NETWORK, `${ATTEMPTS} INDEX sign_in_attempts_by_network (`],
  ['WRONG_CODES_OF_DEVICE', attempts.WRONG_CODES_OF_DEVICE, `${ATTEMPTS} INDEX sign_in_attempts_by_device (`],
  ['WRONG_CODES_OF_BOTH', attempts.WRONG_CODES_OF_BOTH, `${ATTEMPTS} INDEX sign_in_attempts_by_`],
  ['FIND_DEVICE', devices.FIND_DEVICE, 'SEARCH devices USING PRIMARY KEY (account_id=? AND digest=?)'],
  ['FIND_DEVICE_OF_ANY', devices.FIND_DEVICE_OF_ANY, 'SEARCH devices USING INDEX devices_by_digest ('],
  ['DELETE_OLD_DEVICES', devices.DELETE_OLD_DEVICES, 'SEARCH devices USING COVERING INDEX devices_by_last_use ('],
  ['COUNT_MAILED_ATTEMPTS', attempts.COUNT_MAILED_ATTEMPTS, `${ATTEMPTS} COVERING INDEX mailed_sign_in_attempts (`],
  ['DELETE_OLD_ATTEMPTS', attempts.DELETE_OLD_ATTEMPTS, `${ATTEMPTS} INDEX sign_in_attempts_by_creation (`],
])('%s of activity.db only searches', (_, sql, ...steps) => {
  expectPlan(held.activity.database, sql, steps);
});

function expectPlan(database: Database, sql: string, steps: readonly string[]): void {
  const plan = database.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all();
  expect(plan.map(({ detail }) => detail)).toEqual(steps.map((step) => expect.stringContaining(step)));
}
