-- From version 1: attempts count for networks, devices and bases of addresses. Those of version 1 have none.
-- Mails that the mail server did not take are stored.
-- Sessions have the time of the proof. One of version 1 began with it, except at a provider, which may have signed the person in long before.

CREATE TABLE former_attempts AS SELECT * FROM sign_in_attempts;
DROP TABLE sign_in_attempts;

CREATE TABLE sign_in_attempts (
  attempt_id TEXT PRIMARY KEY,
  method TEXT NOT NULL,
  email TEXT COLLATE NOCASE,
  base_digest BLOB,
  link_digest BLOB UNIQUE,
  code_digest BLOB,
  browser_digest BLOB UNIQUE,
  is_mailed INTEGER NOT NULL CHECK (is_mailed IN (0, 1)),
  client_digest BLOB,
  network_digest BLOB,
  device_digest BLOB,
  code_tries INTEGER NOT NULL DEFAULT 0,
  last_try_ms INTEGER,
  identity TEXT CHECK (json_valid(identity)),
  created_ms INTEGER NOT NULL,
  used_ms INTEGER,
  succeeded INTEGER NOT NULL DEFAULT 0 CHECK (succeeded IN (0, 1))
) STRICT, WITHOUT ROWID;

INSERT INTO sign_in_attempts (attempt_id, method, email, link_digest, code_digest, browser_digest, is_mailed, client_digest, code_tries,
  identity, created_ms, used_ms)
  SELECT attempt_id, method, email, link_digest, code_digest, browser_digest, is_mailed, client_digest, code_tries, identity, created_ms, used_ms
  FROM former_attempts;
DROP TABLE former_attempts;

CREATE INDEX sign_in_attempts_by_base ON sign_in_attempts (base_digest, created_ms);
CREATE INDEX sign_in_attempts_by_client ON sign_in_attempts (client_digest, created_ms);
CREATE INDEX sign_in_attempts_by_network ON sign_in_attempts (network_digest, created_ms);
CREATE INDEX sign_in_attempts_by_device ON sign_in_attempts (device_digest, created_ms);
CREATE INDEX sign_in_attempts_by_creation ON sign_in_attempts (created_ms);
CREATE INDEX mailed_sign_in_attempts ON sign_in_attempts (created_ms, is_mailed) WHERE is_mailed;

CREATE TABLE devices (
  account_id INTEGER NOT NULL,
  digest BLOB NOT NULL,
  last_used_ms INTEGER NOT NULL,
  PRIMARY KEY (account_id, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX devices_by_digest ON devices (digest);
CREATE INDEX devices_by_last_use ON devices (last_used_ms);

CREATE TABLE former_sessions AS SELECT * FROM sessions;
DROP TABLE sessions;

CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  account_id INTEGER NOT NULL,
  method TEXT NOT NULL,
  user_agent TEXT,
  created_ms INTEGER NOT NULL,
  last_used_ms INTEGER NOT NULL,
  proved_ms INTEGER
) STRICT, WITHOUT ROWID;

INSERT INTO sessions
  SELECT session_id, digest, account_id, method, user_agent, created_ms, last_used_ms,
    CASE WHEN method IN ('email', 'command') THEN created_ms END
  FROM former_sessions;
DROP TABLE former_sessions;

CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_last_use ON sessions (last_used_ms);

CREATE TABLE waiting_mails (
  mail_id INTEGER PRIMARY KEY,
  sealed BLOB NOT NULL,
  tries INTEGER NOT NULL,
  next_ms INTEGER NOT NULL,
  until_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX waiting_mails_by_next_try ON waiting_mails (next_ms);

CREATE TABLE nodes (
  node_id TEXT PRIMARY KEY,
  batch INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (json_valid(status))
) STRICT, WITHOUT ROWID;
