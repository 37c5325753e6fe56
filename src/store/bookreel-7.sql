-- From version 6: the details of markets, the keys of deleted ones, and series of prices of the last trade.

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

-- Prices of the last trade, as books state them. SQLite cannot change a constraint of a table.

CREATE TABLE former_series AS SELECT * FROM series;
DROP TABLE series;

CREATE TABLE series (
  series_id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (
    kind IN ('book', 'quote', 'derived-quote', 'mid', 'derived-mid', 'trade', 'last-trade', 'coin-price')
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
