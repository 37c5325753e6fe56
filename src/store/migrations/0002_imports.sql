-- 1 where every record of the series was made from the market's other outcome, and none was recorded.
ALTER TABLE series ADD COLUMN mirrored INTEGER NOT NULL DEFAULT 0 CHECK (mirrored IN (0, 1));

-- Recordings name markets by their assets ('0': never recorded).
CREATE INDEX markets_by_up_asset ON markets (up_asset_id) WHERE up_asset_id <> '0';
CREATE INDEX markets_by_down_asset ON markets (down_asset_id) WHERE down_asset_id <> '0';
