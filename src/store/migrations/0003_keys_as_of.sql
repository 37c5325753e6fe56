-- What a key with it is answered is what was known then, nothing later. NULL: everything.
ALTER TABLE api_keys ADD COLUMN as_of_ms INTEGER CHECK (as_of_ms >= 0);
