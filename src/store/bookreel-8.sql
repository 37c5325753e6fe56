-- From version 7: series of what recordings state of books besides the stored ones. SQLite cannot change a constraint of a table.

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
