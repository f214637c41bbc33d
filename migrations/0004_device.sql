CREATE TABLE device_codes (
  id TEXT PRIMARY KEY,
  device_code_hash TEXT NOT NULL UNIQUE,
  user_code_hash TEXT NOT NULL UNIQUE,
  client_id TEXT NOT NULL,
  ip_address TEXT,
  user_agent TEXT,
  status TEXT NOT NULL,
  interval_seconds INTEGER NOT NULL,
  last_polled_at TEXT,
  user_id TEXT,
  organization_id TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX device_codes_by_expiry ON device_codes (expires_at);
--> statement-breakpoint
ALTER TABLE sessions ADD COLUMN organization_id TEXT REFERENCES organizations (id);
