CREATE TABLE catalog_sign_ins (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  url TEXT NOT NULL,
  state TEXT NOT NULL,
  grant_type TEXT,
  server TEXT,
  resource TEXT,
  client TEXT,
  sealed_client_secret TEXT,
  scope TEXT,
  wanted_scope TEXT,
  resource_metadata TEXT,
  sealed_tokens TEXT,
  is_renewable INTEGER NOT NULL,
  expires_at TEXT,
  signed_in_at TEXT,
  signed_in_by TEXT,
  problem TEXT,
  generation INTEGER NOT NULL,
  lease_until TEXT
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX catalog_sign_ins_by_url ON catalog_sign_ins (organization_id, url);
--> statement-breakpoint
CREATE TABLE catalog_sign_in_attempts (
  state_hash TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  url TEXT NOT NULL,
  return_to TEXT NOT NULL,
  sealed_facts TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX catalog_sign_in_attempts_by_expiry ON catalog_sign_in_attempts (expires_at);
