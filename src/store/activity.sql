-- The file activity.db: sessions, sign-in attempts, usage. Times are Unix milliseconds. Accounts and keys are in accounts.db.

CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  -- HMAC-SHA-256 of the cookie's value.
  digest BLOB NOT NULL UNIQUE,
  account_id INTEGER NOT NULL,
  -- How the person signed in: 'email', 'command' or the name of an OIDC provider.
  method TEXT NOT NULL,
  user_agent TEXT,
  created_ms INTEGER NOT NULL,
  last_used_ms INTEGER NOT NULL,
  -- The time at which the person proved who they are: of a provider, the time that it states. NULL: not known, so not recent.
  proved_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_last_use ON sessions (last_used_ms);

-- A sign-in that was started by e-mail or by a command, or that came back from an OIDC provider; or a change of the address of an account.
-- Limits count the rows of a day. A server deletes older ones at its start and every minute.
CREATE TABLE sign_in_attempts (
  attempt_id TEXT PRIMARY KEY,
  -- As for sessions, or 'email-change'.
  method TEXT NOT NULL,
  -- In the spelling of the account; without an account as it was typed. Of a change, the new address. NULL: the answer of a provider.
  email TEXT COLLATE NOCASE,
  -- HMAC-SHA-256 of the address that shares its limits with other spellings.
  base_digest BLOB,
  -- HMAC-SHA-256 of the secret in the link (of a change: with the account and its address), of the code with the attempt's id, and of the
  -- cookie of the browser that asked.
  -- An attempt at a provider has no link and no code; one of a command, and a change, only a link.
  link_digest BLOB UNIQUE,
  code_digest BLOB,
  browser_digest BLOB UNIQUE,
  -- 1: link and code were sent. 0: nobody knows them, since the address may not sign in; the row is the same otherwise.
  is_mailed INTEGER NOT NULL CHECK (is_mailed IN (0, 1)),
  -- HMAC-SHA-256 of the client's address, and of its network. NULL: a command.
  client_digest BLOB,
  network_digest BLOB,
  -- HMAC-SHA-256 of the device of a browser that signed in before: it has limits of its own.
  device_digest BLOB,
  -- Wrong codes, and the time of the last one.
  code_tries INTEGER NOT NULL DEFAULT 0,
  last_try_ms INTEGER,
  -- The identity (JSON: issuer, subject) that is linked to the account when the person has proved the address.
  identity TEXT CHECK (json_valid(identity)),
  created_ms INTEGER NOT NULL,
  -- NULL: not used yet.
  used_ms INTEGER,
  -- 1: the person signed in. Such an attempt counts only for its codes.
  succeeded INTEGER NOT NULL DEFAULT 0 CHECK (succeeded IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX sign_in_attempts_by_base ON sign_in_attempts (base_digest, created_ms);
CREATE INDEX sign_in_attempts_by_client ON sign_in_attempts (client_digest, created_ms);
CREATE INDEX sign_in_attempts_by_network ON sign_in_attempts (network_digest, created_ms);
CREATE INDEX sign_in_attempts_by_device ON sign_in_attempts (device_digest, created_ms);
CREATE INDEX sign_in_attempts_by_creation ON sign_in_attempts (created_ms);
CREATE INDEX mailed_sign_in_attempts ON sign_in_attempts (created_ms, is_mailed) WHERE is_mailed;

-- Browsers that signed in to an account before.
CREATE TABLE devices (
  account_id INTEGER NOT NULL,
  -- HMAC-SHA-256 of the cookie's value. A browser of two accounts has a row for each.
  digest BLOB NOT NULL,
  last_used_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX devices_by_digest ON devices (digest);
CREATE INDEX devices_by_last_use ON devices (last_used_ms);

-- Mails that the mail server did not take, encrypted. They are tried again.
CREATE TABLE waiting_mails (
  mail_id INTEGER PRIMARY KEY,
  sealed BLOB NOT NULL,
  tries INTEGER NOT NULL,
  next_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX waiting_mails_by_next_try ON waiting_mails (next_ms);

-- Each request is counted in a row of its hour and in one of its day.
CREATE TABLE usage (
  -- 'deleted': all keys of deleted accounts.
  key_id TEXT NOT NULL,
  -- The length of the interval: an hour or a day, in UTC.
  interval_ms INTEGER NOT NULL CHECK (interval_ms IN (3600000, 86400000)),
  start_ms INTEGER NOT NULL,
  -- The route's template: /v1/{coin}/markets.
  route TEXT NOT NULL,
  requests INTEGER NOT NULL,
  -- Of these: refused with 403, with 429, and with another status of 400 and above.
  forbidden INTEGER NOT NULL,
  limited INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (key_id, interval_ms, start_ms, route)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_by_start ON usage (interval_ms, start_ms);

CREATE TABLE key_uses (
  key_id TEXT PRIMARY KEY,
  last_used_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The nodes of this service.
CREATE TABLE nodes (
  -- A new one at each start of a node.
  node_id TEXT PRIMARY KEY,
  -- The last batch of usage that is stored: a node numbers them, and sends one again until it gets an answer.
  batch INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL,
  -- The state that the node reported last, as JSON.
  status TEXT NOT NULL CHECK (json_valid(status))
) STRICT, WITHOUT ROWID;
