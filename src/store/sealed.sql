-- The file of one sealed market. It is written once, and never changed.

-- Which market it is, and the seal that the catalog in bookreel.db has too.
CREATE TABLE sealed (
  condition_id TEXT NOT NULL,
  seal TEXT NOT NULL
) STRICT;

-- As in bookreel.db, with the same series. Payloads that can be made from others in this file are written shorter
-- (store/short-payloads.ts); the digest is that of the payload in bookreel.db.
CREATE TABLE segments (
  segment_id INTEGER PRIMARY KEY,
  series_id INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  first_id INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  last_id INTEGER NOT NULL,
  records INTEGER NOT NULL,
  digest BLOB NOT NULL,
  payload BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX segments_by_position ON segments (series_id, last_ms, last_id);
PRAGMA application_id = 1651208819;
PRAGMA user_version = 2;
