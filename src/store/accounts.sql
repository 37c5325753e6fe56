-- The file accounts.db: tiers, accounts, links that undo changes, passkeys, keys, quotes, payments, grants, audit. Times are Unix milliseconds.

CREATE TABLE tiers (
  tier_id TEXT PRIMARY KEY,
  -- The rank: of two tiers, the one with the higher position grants more.
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  -- JSON arrays; NULL grants all.
  coins TEXT,
  routes TEXT,
  requests_per_minute INTEGER NOT NULL,
  monthly_price_usd REAL,
  price_note TEXT,
  -- NULL: not retired. A retired tier is given to no key and no account any more.
  retired_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
  account_id INTEGER PRIMARY KEY,
  -- Of a deleted account: not its address, and not unique.
  email TEXT NOT NULL COLLATE NOCASE,
  name TEXT,
  role TEXT NOT NULL DEFAULT 'user' CHECK (role IN ('user', 'admin')),
  created_ms INTEGER NOT NULL,
  -- NULL: not disabled.
  disabled_ms INTEGER,
  -- NULL: not deleted. A deleted account is disabled too.
  deleted_ms INTEGER CHECK (deleted_ms IS NULL OR disabled_ms IS NOT NULL)
) STRICT;

CREATE UNIQUE INDEX accounts_by_email ON accounts (email) WHERE deleted_ms IS NULL;
CREATE INDEX accounts_by_deletion ON accounts (deleted_ms) WHERE deleted_ms IS NOT NULL;

-- A person at an OIDC provider.
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  created_ms INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX identities_by_account ON identities (account_id);

-- A change of how a person signs in. The link in a mail undoes it for 7 days, with all later ones of the account.
CREATE TABLE undo_links (
  -- HMAC-SHA-256 of the secret in the link.
  digest BLOB PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  -- The address of the account before the change.
  email TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX undo_links_by_account ON undo_links (account_id, created_ms);
CREATE INDEX undo_links_by_creation ON undo_links (created_ms);

-- Public keys of WebAuthn that sign in to accounts.
CREATE TABLE passkeys (
  passkey_id TEXT PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  -- The id that the authenticator chose, as base64url.
  credential_id TEXT NOT NULL UNIQUE,
  -- COSE_Key.
  public_key BLOB NOT NULL,
  -- The number of signatures that the authenticator stated last. 0: it does not count them.
  counter INTEGER NOT NULL,
  -- How browsers reach the authenticator, separated by commas.
  transports TEXT NOT NULL,
  name TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  last_used_ms INTEGER,
  -- The time of the latest challenge that it answered: only later ones are accepted.
  challenge_ms INTEGER NOT NULL DEFAULT 0,
  -- When its person removed it: links that undo changes give it back for 7 days. 0: never.
  removed_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX passkeys_by_account ON passkeys (account_id, created_ms);

-- HMAC-SHA-256 of codes that replace a passkey. A code that was used has no row any more.
CREATE TABLE recovery_codes (
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  digest BLOB NOT NULL,
  PRIMARY KEY (account_id, digest)
) STRICT, WITHOUT ROWID;

-- An offer of a tier to an account, for a token.
CREATE TABLE payment_quotes (
  quote_id TEXT PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  tier_id TEXT NOT NULL REFERENCES tiers (tier_id),
  price_cents INTEGER NOT NULL CHECK (price_cents > 0),
  -- CAIP-2: eip155:137.
  network TEXT NOT NULL,
  -- Addresses are hex in lower case.
  asset TEXT NOT NULL,
  pay_to TEXT NOT NULL,
  -- An integer of the token's smallest unit.
  amount TEXT NOT NULL,
  -- The last block before the quote.
  since_block INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  -- Exclusive.
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX payment_quotes_by_account ON payment_quotes (account_id, tier_id, network, asset, expires_ms);
CREATE INDEX payment_quotes_by_end ON payment_quotes (expires_ms);

-- A signed transfer (EIP-3009). It is stored before the chain gets it, without the signature.
CREATE TABLE payments (
  sequence INTEGER PRIMARY KEY,
  payment_id TEXT NOT NULL UNIQUE,
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  quote_id TEXT NOT NULL UNIQUE REFERENCES payment_quotes (quote_id),
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  payer TEXT NOT NULL,
  nonce TEXT NOT NULL,
  -- Unix seconds. Exclusive.
  valid_before INTEGER NOT NULL,
  -- settled: mined and granted; final: so many blocks ago that it stays; failed: it can never be mined.
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'settled', 'final', 'failed')),
  -- NULL: not mined.
  tx_hash TEXT,
  block INTEGER,
  settled_ms INTEGER,
  created_ms INTEGER NOT NULL,
  UNIQUE (network, asset, payer, nonce)
) STRICT;

CREATE INDEX payments_by_account ON payments (account_id, sequence);
CREATE INDEX payments_by_settlement ON payments (settled_ms) WHERE settled_ms IS NOT NULL;
CREATE INDEX open_payments ON payments (sequence) WHERE state IN ('pending', 'settled');

-- What is needed to send the transfer of a payment again, until the chain has decided it.
CREATE TABLE payment_sends (
  payment_id TEXT PRIMARY KEY REFERENCES payments (payment_id),
  -- The signed transfer (JSON), encrypted with the key secret: store/sealed-text.ts. NULL: the chain has decided.
  sealed BLOB,
  -- The chain's logs are searched from this block on; NULL: from that of the quote.
  next_block INTEGER,
  -- 1: a client was told that the payment is pending, and may ask again without the payment.
  was_pending INTEGER NOT NULL DEFAULT 0 CHECK (was_pending IN (0, 1))
) STRICT, WITHOUT ROWID;

-- A transaction with the transfer of a payment, stored before the chain gets it. One with a higher fee and the same nonce replaces another.
CREATE TABLE payment_transactions (
  tx_hash TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL REFERENCES payments (payment_id),
  network TEXT NOT NULL,
  -- Of the gas key; NULL: sent by a facilitator.
  nonce INTEGER,
  -- Integers of the smallest unit of the network's currency, for each unit of gas; NULL: sent by a facilitator.
  fee TEXT,
  tip TEXT,
  sent_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX payment_transactions_by_payment ON payment_transactions (payment_id, sent_ms);
CREATE INDEX payment_transactions_by_nonce ON payment_transactions (network, nonce);

-- A mail to a buyer that is sent or waits for the mail server: none is sent twice.
CREATE TABLE payment_mails (
  payment_id TEXT NOT NULL REFERENCES payments (payment_id),
  -- week, day: so long before the end of the last paid term.
  occasion TEXT NOT NULL CHECK (occasion IN ('receipt', 'week', 'day')),
  -- The end of the term; 0: a receipt.
  ends_ms INTEGER NOT NULL,
  PRIMARY KEY (payment_id, occasion, ends_ms)
) STRICT, WITHOUT ROWID;

-- Names of purchases by the clients of an account: a repeated request finds its payment.
CREATE TABLE payment_identifiers (
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  identifier TEXT NOT NULL,
  payment_id TEXT NOT NULL REFERENCES payments (payment_id),
  PRIMARY KEY (account_id, identifier)
) STRICT, WITHOUT ROWID;

-- Payments that the operator has paid back.
CREATE TABLE refunds (
  payment_id TEXT PRIMARY KEY REFERENCES payments (payment_id), refund_hash TEXT NOT NULL, refunded_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The name and the address of an account on its next invoices.
CREATE TABLE buyers (account_id INTEGER PRIMARY KEY REFERENCES accounts (account_id), lines TEXT NOT NULL) STRICT;

-- Numbers have no holes: a payment gets the next one when it is granted, and keeps it.
CREATE TABLE invoices (
  number INTEGER PRIMARY KEY,
  payment_id TEXT NOT NULL UNIQUE REFERENCES payments (payment_id),
  issued_ms INTEGER NOT NULL,
  -- JSON: the seller of the settings at that time.
  seller TEXT NOT NULL CHECK (json_valid(seller)),
  -- NULL: the buyer had given no name and address by then.
  buyer TEXT
) STRICT;

-- The block of the first quote for each token: `billing check` looks for transfers from there on.
CREATE TABLE first_quotes (
  network TEXT NOT NULL,
  asset TEXT NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (network, asset)
) STRICT, WITHOUT ROWID;

-- A tier that an account has for a time, from an operator or a payment.
CREATE TABLE grants (
  grant_id TEXT PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  tier_id TEXT NOT NULL REFERENCES tiers (tier_id),
  source TEXT NOT NULL CHECK (source IN ('operator', 'payment')),
  -- NULL: from an operator.
  payment_id TEXT REFERENCES payments (payment_id),
  starts_ms INTEGER NOT NULL,
  -- NULL: no end. Exclusive; equal to the start: the grant was ended before it.
  ends_ms INTEGER CHECK (ends_ms >= starts_ms),
  created_ms INTEGER NOT NULL,
  CHECK ((source = 'payment') = (payment_id IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX grants_by_account ON grants (account_id);
CREATE INDEX paid_grants_by_end ON grants (ends_ms) WHERE source = 'payment';

CREATE TABLE api_keys (
  key_id TEXT PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES accounts (account_id),
  -- NULL: the key has the tier of its account.
  tier_id TEXT REFERENCES tiers (tier_id),
  name TEXT,
  -- HMAC-SHA-256 of the key; its secret is a file next to the database, never in it.
  digest BLOB NOT NULL UNIQUE,
  prefix TEXT NOT NULL,
  requests_per_minute INTEGER,
  -- Answers to the key have nothing later. NULL: there is no limit.
  as_of_ms INTEGER CHECK (as_of_ms >= 0),
  created_ms INTEGER NOT NULL,
  -- NULL: the key does not expire. Exclusive.
  expires_ms INTEGER,
  rotated_ms INTEGER,
  revoked_ms INTEGER
) STRICT;

CREATE INDEX api_keys_by_account ON api_keys (account_id);

-- Rows are only added, except that entries about strangers are counted, and that the addresses of deleted accounts are replaced.
CREATE TABLE audit (
  entry_id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  -- The account that acted; NULL: a command on this machine, or the service itself.
  actor_id INTEGER REFERENCES accounts (account_id),
  action TEXT NOT NULL,
  -- The account that the action concerns; NULL: none.
  account_id INTEGER REFERENCES accounts (account_id),
  -- A JSON object: ids and names of the things concerned. It has no secrets.
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  -- The user of this machine who ran a command; NULL: a person, the service itself, or not known.
  operating_user TEXT,
  -- The address of the client, and the id of the request; NULL: no request.
  client TEXT,
  request_id TEXT,
  -- The number of actions that the entry stands for: those of strangers are counted.
  count INTEGER NOT NULL DEFAULT 1 CHECK (count > 0)
) STRICT;

CREATE INDEX audit_by_time ON audit (at_ms);
CREATE INDEX audit_by_account ON audit (account_id, at_ms);
CREATE INDEX audit_by_action ON audit (action, at_ms);
CREATE INDEX audit_by_actor ON audit (actor_id);
-- Actions of strangers are found by their hour, to be counted.
CREATE INDEX audit_of_strangers ON audit (action, account_id, at_ms) WHERE actor_id IS NULL AND operating_user IS NULL;

-- The last changes of rows that nodes need to check keys, in the order of their numbers.
CREATE TABLE key_changes (
  number INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('tier', 'account', 'grant', 'key')),
  -- The primary key of the row.
  id ANY NOT NULL,
  -- Numbers are used again after a restore, tokens are not: two histories that have the same token are the same up to it.
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
