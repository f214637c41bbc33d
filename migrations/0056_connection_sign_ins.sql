CREATE TABLE connection_sign_ins (
  connection_id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  settings_hash TEXT NOT NULL,
  sealed_tokens TEXT,
  wanted_scope TEXT,
  scope TEXT,
  is_renewable INTEGER NOT NULL,
  issued_at TEXT NOT NULL,
  expires_at TEXT,
  signed_in_at TEXT NOT NULL,
  signed_in_by TEXT NOT NULL,
  problem TEXT,
  generation INTEGER NOT NULL,
  lease_until TEXT
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX connection_sign_ins_organization ON connection_sign_ins (organization_id);
--> statement-breakpoint
CREATE TABLE connection_sign_in_attempts (
  state_hash TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  session_id TEXT,
  sealed_facts TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX connection_sign_in_attempts_organization ON connection_sign_in_attempts (organization_id);
--> statement-breakpoint
CREATE INDEX connection_sign_in_attempts_connection ON connection_sign_in_attempts (connection_id);
