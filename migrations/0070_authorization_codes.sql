CREATE TABLE authorization_codes (
  id TEXT PRIMARY KEY,
  code_hash TEXT NOT NULL UNIQUE,
  client_id TEXT NOT NULL,
  client_name TEXT NOT NULL,
  redirect_uri TEXT NOT NULL,
  challenge TEXT NOT NULL,
  scopes TEXT NOT NULL,
  user_id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  ends_at TEXT,
  status TEXT NOT NULL,
  token_id TEXT,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX authorization_codes_organization ON authorization_codes (organization_id);
--> statement-breakpoint
CREATE INDEX authorization_codes_user ON authorization_codes (user_id);
--> statement-breakpoint
CREATE INDEX authorization_codes_expires ON authorization_codes (expires_at);
