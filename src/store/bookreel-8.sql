-- From version 7: series of what recordings state of books besides the stored ones, the recorded part of each market, and indices of sorted
-- lists. SQLite cannot change a constraint of a table, and a column that it adds changes the table's text in another way.

CREATE TABLE former_series AS SELECT * FROM series;
DROP TABLE series;

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
  recorded_from_ms INTEGER,
  CHECK ((kind = 'coin-price') = (market_key IS NULL)),
  CHECK ((market_key IS NULL) = (outcome IS NULL)),
  CHECK ((market_key IS NULL) = (symbol IS NOT NULL AND source IS NOT NULL))
) STRICT;

INSERT INTO series (series_id, kind, market_key, outcome, symbol, source, recorded_from_ms)
  SELECT series_id, kind, market_key, outcome, symbol, source, recorded_from_ms FROM former_series;
DROP TABLE former_series;

CREATE UNIQUE INDEX series_by_market ON series (market_key, outcome, kind) WHERE market_key IS NOT NULL;
CREATE UNIQUE INDEX series_by_coin ON series (symbol, source) WHERE symbol IS NOT NULL;

CREATE TABLE former_markets AS SELECT * FROM markets;
DROP TABLE markets;

CREATE TABLE markets (
  market_key INTEGER PRIMARY KEY,
  condition_id TEXT NOT NULL,
  venue_market_id TEXT NOT NULL,
  venue_event_id TEXT NOT NULL,
  venue_market_id_ms INTEGER,
  venue_event_id_ms INTEGER,
  slug TEXT NOT NULL COLLATE NOCASE,
  symbol TEXT NOT NULL,
  timeframe TEXT NOT NULL,
  up_asset_id TEXT NOT NULL,
  down_asset_id TEXT NOT NULL,
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
  stated_updated_ms INTEGER,
  revision INTEGER NOT NULL,
  snapshot_count INTEGER NOT NULL DEFAULT 0,
  first_snapshot_ms INTEGER,
  last_snapshot_ms INTEGER,
  recorded_ms INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX markets_by_coin ON markets (symbol, start_ms, condition_id);
CREATE INDEX markets_by_coin_and_timeframe ON markets (symbol, timeframe, start_ms, condition_id);
CREATE INDEX recorded_markets_by_coin
  ON markets (symbol, start_ms, condition_id, first_snapshot_ms, last_snapshot_ms, snapshot_count)
  WHERE first_snapshot_ms IS NOT NULL;
CREATE INDEX markets_by_length ON markets (symbol, end_ms - start_ms);
CREATE INDEX markets_by_name ON markets (symbol, slug, start_ms);
CREATE INDEX markets_by_winner ON markets (symbol, IFNULL(winner, ''), start_ms);
CREATE INDEX markets_by_recorded_time ON markets (symbol, recorded_ms, start_ms);
CREATE INDEX markets_by_snapshots ON markets (symbol, snapshot_count, start_ms);
CREATE INDEX markets_by_volume ON markets (symbol, IFNULL(volume, -1), start_ms);
CREATE INDEX markets_by_strike ON markets (symbol, IFNULL(price_start, -1), start_ms);
CREATE INDEX markets_by_final_price ON markets (symbol, IFNULL(price_end, -1), start_ms);
CREATE INDEX markets_by_condition_id ON markets (SUBSTR(condition_id, -10));
CREATE INDEX markets_by_up_asset ON markets (SUBSTR(up_asset_id, -10)) WHERE up_asset_id <> '0';
CREATE INDEX markets_by_down_asset ON markets (SUBSTR(down_asset_id, -10)) WHERE down_asset_id <> '0';

INSERT INTO markets (
    market_key, condition_id, venue_market_id, venue_event_id, venue_market_id_ms, venue_event_id_ms, slug, symbol, timeframe,
    up_asset_id, down_asset_id, active, closed, winner, start_ms, end_ms, volume, liquidity, resolved_ms, price_start, price_end,
    created_ms, updated_ms, stated_updated_ms, revision, snapshot_count, first_snapshot_ms, last_snapshot_ms
  ) SELECT
    market_key, condition_id, venue_market_id, venue_event_id, venue_market_id_ms, venue_event_id_ms, slug, symbol, timeframe,
    up_asset_id, down_asset_id, active, closed, winner, start_ms, end_ms, volume, liquidity, resolved_ms, price_start, price_end,
    created_ms, updated_ms, stated_updated_ms, revision, snapshot_count, first_snapshot_ms, last_snapshot_ms
  FROM former_markets;
DROP TABLE former_markets;

CREATE TABLE sealed_markets (
  market_key INTEGER PRIMARY KEY REFERENCES markets (market_key),
  path TEXT NOT NULL,
  seal TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  digest BLOB NOT NULL
) STRICT;

CREATE TABLE sealed_series (
  series_id INTEGER NOT NULL,
  market_key INTEGER NOT NULL REFERENCES sealed_markets (market_key),
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  segments INTEGER NOT NULL,
  records INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (market_key, series_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sealed_markets_by_path ON sealed_markets (SUBSTR(path, 1, 11) || SUBSTR(path, -11, 8));
CREATE INDEX sealed_markets_by_size ON sealed_markets (bytes);

CREATE TABLE publication (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  address TEXT NOT NULL
) STRICT;

CREATE TABLE changed_markets (
  market_key INTEGER PRIMARY KEY,
  urgency INTEGER NOT NULL
) STRICT;

CREATE INDEX changed_markets_by_urgency ON changed_markets (urgency);

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
