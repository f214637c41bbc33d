ALTER TABLE dashboards ADD COLUMN share_expires_at TEXT;
