-- From version 6: the details of markets.

CREATE TABLE market_details (
  market_key INTEGER PRIMARY KEY REFERENCES markets (market_key) ON DELETE CASCADE,
  -- A JSON object of domain/market-details.ts, without what no recording states.
  details TEXT NOT NULL
) STRICT;
