CREATE TABLE refresh_tokens (
  id TEXT PRIMARY KEY,
  family_id TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  client_id TEXT NOT NULL,
  client_name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  user_id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  ends_at TEXT NOT NULL,
  status TEXT NOT NULL,
  token_id TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX refresh_tokens_family ON refresh_tokens (family_id);
--> statement-breakpoint
CREATE INDEX refresh_tokens_organization ON refresh_tokens (organization_id);
--> statement-breakpoint
CREATE INDEX refresh_tokens_user ON refresh_tokens (user_id);
--> statement-breakpoint
CREATE INDEX refresh_tokens_expires ON refresh_tokens (expires_at);
