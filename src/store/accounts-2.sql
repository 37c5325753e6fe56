-- From version 1: the audit has the user of a command, the client, the request and a count. Earlier entries have none, and count as one.
-- The addresses of accounts that were deleted are replaced, and their subjects at providers removed.
-- Changes of how a person signs in have links that undo them.
-- Accounts have passkeys and recovery codes.
-- Payments have what is needed to send them again, and mails to buyers are sent once. Those from now on have invoices.

CREATE TABLE former_audit AS SELECT * FROM audit;
DROP TABLE audit;

CREATE TABLE audit (
  entry_id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  actor_id INTEGER REFERENCES accounts (account_id),
  action TEXT NOT NULL,
  account_id INTEGER REFERENCES accounts (account_id),
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  operating_user TEXT,
  client TEXT,
  request_id TEXT,
  count INTEGER NOT NULL DEFAULT 1 CHECK (count > 0)
) STRICT;

INSERT INTO audit (entry_id, at_ms, actor_id, action, account_id, detail)
  SELECT entry_id, at_ms, actor_id, action, account_id, detail FROM former_audit;
DROP TABLE former_audit;

UPDATE audit SET detail = json_object('from', a.email, 'to', a.email) FROM accounts AS a
  WHERE a.account_id = audit.account_id AND a.deleted_ms IS NOT NULL AND action = 'account.email';
UPDATE audit SET detail = json_set(detail, '$.subject', NULL) FROM accounts AS a
  WHERE a.account_id = audit.account_id AND a.deleted_ms IS NOT NULL AND action IN ('identity.link', 'identity.unlink');

CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_account ON audit (account_id, at_ms);
CREATE INDEX audit_by_action ON audit (action, at_ms);
CREATE INDEX audit_by_actor ON audit (actor_id);
CREATE INDEX audit_of_strangers ON audit (action, account_id, at_ms) WHERE actor_id IS NULL AND operating_user IS NULL;

CREATE TABLE undo_links (
  digest BLOB PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  email TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX undo_links_by_account ON undo_links (account_id, created_ms);
CREATE INDEX undo_links_by_creation ON undo_links (created_ms);

CREATE TABLE passkeys (
  passkey_id TEXT PRIMARY KEY, account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  credential_id TEXT NOT NULL UNIQUE, public_key BLOB NOT NULL, counter INTEGER NOT NULL, transports TEXT NOT NULL,
  name TEXT NOT NULL, created_ms INTEGER NOT NULL, last_used_ms INTEGER, challenge_ms INTEGER NOT NULL DEFAULT 0,
  removed_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkeys_by_account ON passkeys (account_id, created_ms);
CREATE TABLE recovery_codes (
  account_id INTEGER NOT NULL REFERENCES accounts (account_id), digest BLOB NOT NULL, PRIMARY KEY (account_id, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE payment_sends (
  payment_id TEXT PRIMARY KEY REFERENCES payments (payment_id),
  sealed BLOB,
  next_block INTEGER,
  was_pending INTEGER NOT NULL DEFAULT 0 CHECK (was_pending IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE payment_transactions (
  tx_hash TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL REFERENCES payments (payment_id),
  network TEXT NOT NULL,
  nonce INTEGER,
  fee TEXT,
  tip TEXT,
  sent_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX payment_transactions_by_payment ON payment_transactions (payment_id, sent_ms);
CREATE INDEX payment_transactions_by_nonce ON payment_transactions (network, nonce);

CREATE TABLE first_quotes (
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (network, asset)
) STRICT, WITHOUT ROWID;

INSERT INTO first_quotes SELECT network, asset, MIN(since_block) FROM payment_quotes GROUP BY network, asset;

CREATE TABLE payment_mails (
  payment_id TEXT NOT NULL REFERENCES payments (payment_id),
  occasion TEXT NOT NULL CHECK (occasion IN ('receipt', 'week', 'day')),
  ends_ms INTEGER NOT NULL,
  PRIMARY KEY (payment_id, occasion, ends_ms)
) STRICT, WITHOUT ROWID;

CREATE INDEX payments_by_settlement ON payments (settled_ms) WHERE settled_ms IS NOT NULL;
CREATE INDEX paid_grants_by_end ON grants (ends_ms) WHERE source = 'payment';

CREATE TABLE payment_identifiers (
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  identifier TEXT NOT NULL,
  payment_id TEXT NOT NULL REFERENCES payments (payment_id),
  PRIMARY KEY (account_id, identifier)
) STRICT, WITHOUT ROWID;

CREATE TABLE refunds (
  payment_id TEXT PRIMARY KEY REFERENCES payments (payment_id), refund_hash TEXT NOT NULL, refunded_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE buyers (account_id INTEGER PRIMARY KEY REFERENCES accounts (account_id), lines TEXT NOT NULL) STRICT;

CREATE TABLE invoices (
  number INTEGER PRIMARY KEY,
  payment_id TEXT NOT NULL UNIQUE REFERENCES payments (payment_id),
  issued_ms INTEGER NOT NULL,
  seller TEXT NOT NULL CHECK (json_valid(seller)),
  buyer TEXT
) STRICT;

CREATE TABLE key_changes (
  number INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('tier', 'account', 'grant', 'key')),
  id ANY NOT NULL,
  token TEXT NOT NULL DEFAULT (hex(randomblob(8)))
) STRICT;

CREATE TRIGGER bounded_key_changes AFTER INSERT ON key_changes
  BEGIN DELETE FROM key_changes WHERE number <= NEW.number - 10000; END;
CREATE TRIGGER added_tiers AFTER INSERT ON tiers BEGIN INSERT INTO key_changes (kind, id) VALUES ('tier', NEW.tier_id); END;
CREATE TRIGGER changed_tiers AFTER UPDATE ON tiers BEGIN INSERT INTO key_changes (kind, id) VALUES ('tier', NEW.tier_id); END;
CREATE TRIGGER removed_tiers AFTER DELETE ON tiers BEGIN INSERT INTO key_changes (kind, id) VALUES ('tier', OLD.tier_id); END;
CREATE TRIGGER added_accounts AFTER INSERT ON accounts BEGIN INSERT INTO key_changes (kind, id) VALUES ('account', NEW.account_id); END;
CREATE TRIGGER changed_accounts AFTER UPDATE ON accounts BEGIN INSERT INTO key_changes (kind, id) VALUES ('account', NEW.account_id); END;
CREATE TRIGGER removed_accounts AFTER DELETE ON accounts BEGIN INSERT INTO key_changes (kind, id) VALUES ('account', OLD.account_id); END;
CREATE TRIGGER added_grants AFTER INSERT ON grants BEGIN INSERT INTO key_changes (kind, id) VALUES ('grant', NEW.grant_id); END;
CREATE TRIGGER changed_grants AFTER UPDATE ON grants BEGIN INSERT INTO key_changes (kind, id) VALUES ('grant', NEW.grant_id); END;
CREATE TRIGGER removed_grants AFTER DELETE ON grants BEGIN INSERT INTO key_changes (kind, id) VALUES ('grant', OLD.grant_id); END;
CREATE TRIGGER added_api_keys AFTER INSERT ON api_keys BEGIN INSERT INTO key_changes (kind, id) VALUES ('key', NEW.key_id); END;
CREATE TRIGGER changed_api_keys AFTER UPDATE ON api_keys BEGIN INSERT INTO key_changes (kind, id) VALUES ('key', NEW.key_id); END;
CREATE TRIGGER removed_api_keys AFTER DELETE ON api_keys BEGIN INSERT INTO key_changes (kind, id) VALUES ('key', OLD.key_id); END;
