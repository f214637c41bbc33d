CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  last_four TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT NOT NULL,
  last_used_at TEXT,
  revoked_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX api_keys_by_organization ON api_keys (organization_id, id);
--> statement-breakpoint
CREATE TABLE invitations (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  email TEXT NOT NULL,
  role TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  created_by TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  UNIQUE (organization_id, email)
) STRICT;
--> statement-breakpoint
CREATE INDEX invitations_by_organization ON invitations (organization_id, id);
--> statement-breakpoint
CREATE INDEX invitations_by_email ON invitations (email);
