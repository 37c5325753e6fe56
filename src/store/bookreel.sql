-- Times are Unix milliseconds, decimals are REAL (exact up to 15 significant digits, see domain/decimal.ts),
-- asset ids are TEXT (about 77 digits).

CREATE TABLE archive (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  -- In entity tags: two archives may have equal revisions of different markets.
  archive_id TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE markets (
  market_key INTEGER PRIMARY KEY,
  -- Unique: the triggers 'market_named' and 'market_renamed' refuse a second one.
  condition_id TEXT NOT NULL,
  -- '0': unknown.
  venue_market_id TEXT NOT NULL,
  venue_event_id TEXT NOT NULL,
  -- When the venue's ids were first stated (the time of the import where a statement has no time); NULL where they are unknown.
  venue_market_id_ms INTEGER,
  venue_event_id_ms INTEGER,
  slug TEXT NOT NULL COLLATE NOCASE,
  symbol TEXT NOT NULL,
  timeframe TEXT NOT NULL,
  up_asset_id TEXT NOT NULL,
  down_asset_id TEXT NOT NULL,
  -- NULL in active, closed, volume, liquidity: no recording states it (domain/market-statement.ts has the defaults).
  active INTEGER CHECK (active IN (0, 1)),
  closed INTEGER CHECK (closed IN (0, 1)),
  winner TEXT CHECK (winner IN ('up', 'down')),
  start_ms INTEGER NOT NULL,
  end_ms INTEGER NOT NULL,
  volume REAL,
  liquidity REAL,
  resolved_ms INTEGER,
  price_start REAL,
  price_end REAL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  -- updated_ms as a recording states it; NULL where none does: then updated_ms is when the archive stored the change.
  stated_updated_ms INTEGER,
  -- A new random number with every change to the market or to a record of it: copies of one archive that were changed
  -- differently never have the same.
  revision INTEGER NOT NULL,
  -- Number of its order book snapshots, both outcomes together; the transaction that stores them updates it.
  snapshot_count INTEGER NOT NULL DEFAULT 0,
  -- NULL without snapshots.
  first_snapshot_ms INTEGER,
  last_snapshot_ms INTEGER,
  -- The recorded part of its window, see domain/recorded-time.ts; the transaction that changes books or gaps updates it.
  recorded_ms INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX markets_by_coin ON markets (symbol, start_ms, condition_id);
CREATE INDEX markets_by_coin_and_timeframe ON markets (symbol, timeframe, start_ms, condition_id);
-- Lists of recorded markets, and the totals of a coin without reading its markets.
CREATE INDEX recorded_markets_by_coin
  ON markets (symbol, start_ms, condition_id, first_snapshot_ms, last_snapshot_ms, snapshot_count)
  WHERE first_snapshot_ms IS NOT NULL;
-- Finds the longest window: a window that overlaps an instant begins at most this long before it.
CREATE INDEX markets_by_length ON markets (symbol, end_ms - start_ms);
-- Sorted lists. The last column of an index is the market_key.
CREATE INDEX markets_by_name ON markets (symbol, slug, start_ms);
CREATE INDEX markets_by_winner ON markets (symbol, IFNULL(winner, ''), start_ms);
CREATE INDEX markets_by_recorded_time ON markets (symbol, recorded_ms, start_ms);
CREATE INDEX markets_by_snapshots ON markets (symbol, snapshot_count, start_ms);
CREATE INDEX markets_by_volume ON markets (symbol, IFNULL(volume, -1), start_ms);
CREATE INDEX markets_by_strike ON markets (symbol, IFNULL(price_start, -1), start_ms);
CREATE INDEX markets_by_final_price ON markets (symbol, IFNULL(price_end, -1), start_ms);
-- The last characters of long random ids: whole ones would take half of the bytes of all indexes. Statements compare the whole ids too.
-- Recordings name markets by their assets ('0': never recorded).
CREATE INDEX markets_by_condition_id ON markets (SUBSTR(condition_id, -10));
CREATE INDEX markets_by_up_asset ON markets (SUBSTR(up_asset_id, -10)) WHERE up_asset_id <> '0';
CREATE INDEX markets_by_down_asset ON markets (SUBSTR(down_asset_id, -10)) WHERE down_asset_id <> '0';

-- What the venue states of a market besides: texts and fees.
CREATE TABLE market_details (
  market_key INTEGER PRIMARY KEY REFERENCES markets (market_key) ON DELETE CASCADE,
  -- A JSON object of domain/market-details.ts, without what no recording states.
  details TEXT NOT NULL
) STRICT;

CREATE TABLE deleted_markets (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  -- The highest key of a deleted market: no market gets it again.
  last_key INTEGER NOT NULL
) STRICT;

-- A time series: one kind of record of one outcome of one market, or one source's prices of one coin.
CREATE TABLE series (
  series_id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (
    kind IN (
      'book', 'quote', 'derived-quote', 'mid', 'derived-mid', 'trade', 'last-trade', 'statement', 'coin-price'
    )
  ),
  market_key INTEGER REFERENCES markets (market_key),
  outcome TEXT CHECK (outcome IN ('up', 'down')),
  symbol TEXT,
  source TEXT,
  -- Of books: the time of the first recorded one, NULL without any. Earlier ones were made from the market's other outcome.
  recorded_from_ms INTEGER,
  CHECK ((kind = 'coin-price') = (market_key IS NULL)),
  CHECK ((market_key IS NULL) = (outcome IS NULL)),
  CHECK ((market_key IS NULL) = (symbol IS NOT NULL AND source IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX series_by_market ON series (market_key, outcome, kind) WHERE market_key IS NOT NULL;
CREATE UNIQUE INDEX series_by_coin ON series (symbol, source) WHERE symbol IS NOT NULL;

-- A segment of consecutive records of one series. Segments of a series do not overlap; (last_ms, last_id) orders them.
CREATE TABLE segments (
  segment_id INTEGER PRIMARY KEY,
  series_id INTEGER NOT NULL REFERENCES series (series_id),
  first_ms INTEGER NOT NULL,
  first_id INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  last_id INTEGER NOT NULL,
  records INTEGER NOT NULL,
  -- SHA-256 of the payload.
  digest BLOB NOT NULL,
  payload BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX segments_by_position ON segments (series_id, last_ms, last_id);

-- All record ids that were given out, as disjoint inclusive ranges that do not touch.
CREATE TABLE given_ids (
  first_id INTEGER PRIMARY KEY,
  last_id INTEGER NOT NULL
) STRICT;

-- Time ranges that a recording states as missing.
CREATE TABLE gaps (
  market_key INTEGER NOT NULL REFERENCES markets (market_key),
  from_ms INTEGER NOT NULL,
  to_ms INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (market_key, from_ms, to_ms, reason)
) STRICT, WITHOUT ROWID;

-- Markets that are over and settled: their segments are in a file of its own below books/, and nowhere else.
CREATE TABLE sealed_markets (
  market_key INTEGER PRIMARY KEY REFERENCES markets (market_key),
  -- Below books/: YYYY-MM-DD/CONDITIONID-SEAL.db.
  path TEXT NOT NULL,
  -- Random, also in the file.
  seal TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  -- SHA-256 of the file.
  digest BLOB NOT NULL
) STRICT;

-- What the segments of each series of a sealed market have together.
CREATE TABLE sealed_series (
  series_id INTEGER NOT NULL,
  market_key INTEGER NOT NULL REFERENCES sealed_markets (market_key),
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  segments INTEGER NOT NULL,
  records INTEGER NOT NULL,
  -- Of the payloads.
  bytes INTEGER NOT NULL,
  PRIMARY KEY (market_key, series_id)
) STRICT, WITHOUT ROWID;

-- The day in the path and the second half of the seal: whole paths would take more bytes.
CREATE INDEX sealed_markets_by_path ON sealed_markets (SUBSTR(path, 1, 11) || SUBSTR(path, -11, 8));
CREATE INDEX sealed_markets_by_size ON sealed_markets (bytes);

-- Has a row from the first publication on: the triggers below then note changes for 'bookreel publish'.
CREATE TABLE publication (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  -- The address of the bucket.
  address TEXT NOT NULL
) STRICT;

-- The markets that changed since they were last published.
CREATE TABLE changed_markets (
  market_key INTEGER PRIMARY KEY,
  -- 2: deleted, or its file is not valid any more; 1: new, or sealed; 0: another change, which may wait.
  urgency INTEGER NOT NULL
) STRICT;

CREATE INDEX changed_markets_by_urgency ON changed_markets (urgency);

-- In a copy of a published catalog: the last object that was applied to it, and the SHA-256 of that object.
CREATE TABLE replica (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  number INTEGER NOT NULL,
  digest TEXT NOT NULL
) STRICT;

CREATE TRIGGER market_named BEFORE INSERT ON markets WHEN EXISTS (
  SELECT 1 FROM markets WHERE SUBSTR(condition_id, -10) = SUBSTR(NEW.condition_id, -10) AND condition_id = NEW.condition_id
) BEGIN
  SELECT RAISE(ABORT, 'another market has this condition_id');
END;

CREATE TRIGGER market_renamed BEFORE UPDATE OF condition_id ON markets WHEN NEW.condition_id <> OLD.condition_id AND EXISTS (
  SELECT 1 FROM markets WHERE SUBSTR(condition_id, -10) = SUBSTR(NEW.condition_id, -10) AND condition_id = NEW.condition_id
) BEGIN
  SELECT RAISE(ABORT, 'another market has this condition_id');
END;

CREATE TRIGGER market_added AFTER INSERT ON markets WHEN EXISTS (SELECT 1 FROM publication) BEGIN
  INSERT INTO changed_markets (market_key, urgency) VALUES (NEW.market_key, 1)
    ON CONFLICT (market_key) DO UPDATE SET urgency = MAX(urgency, excluded.urgency);
END;

CREATE TRIGGER market_changed AFTER UPDATE ON markets WHEN EXISTS (SELECT 1 FROM publication) BEGIN
  INSERT INTO changed_markets (market_key, urgency) VALUES (NEW.market_key, 0)
    ON CONFLICT (market_key) DO UPDATE SET urgency = MAX(urgency, excluded.urgency);
END;

CREATE TRIGGER market_deleted AFTER DELETE ON markets WHEN EXISTS (SELECT 1 FROM publication) BEGIN
  INSERT INTO changed_markets (market_key, urgency) VALUES (OLD.market_key, 2)
    ON CONFLICT (market_key) DO UPDATE SET urgency = MAX(urgency, excluded.urgency);
END;

CREATE TRIGGER market_sealed AFTER INSERT ON sealed_markets WHEN EXISTS (SELECT 1 FROM publication) BEGIN
  INSERT INTO changed_markets (market_key, urgency) VALUES (NEW.market_key, 1)
    ON CONFLICT (market_key) DO UPDATE SET urgency = MAX(urgency, excluded.urgency);
END;

CREATE TRIGGER market_unsealed AFTER DELETE ON sealed_markets WHEN EXISTS (SELECT 1 FROM publication) BEGIN
  INSERT INTO changed_markets (market_key, urgency) VALUES (OLD.market_key, 2)
    ON CONFLICT (market_key) DO UPDATE SET urgency = MAX(urgency, excluded.urgency);
END;
