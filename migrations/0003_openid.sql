CREATE TABLE openid_identities (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (issuer, subject),
  UNIQUE (user_id, issuer)
) STRICT;
--> statement-breakpoint
CREATE TABLE openid_attempts (
  state_hash TEXT PRIMARY KEY,
  browser_hash TEXT NOT NULL,
  return_to TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX openid_attempts_by_expiry ON openid_attempts (expires_at);
--> statement-breakpoint
ALTER TABLE sessions ADD COLUMN identity_id TEXT REFERENCES openid_identities (id);
--> statement-breakpoint
ALTER TABLE sessions ADD COLUMN sealed_refresh_token TEXT;
--> statement-breakpoint
ALTER TABLE sessions ADD COLUMN refresh_at TEXT;
--> statement-breakpoint
CREATE INDEX sessions_by_refresh ON sessions (refresh_at) WHERE refresh_at IS NOT NULL;
