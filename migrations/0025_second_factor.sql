ALTER TABLE sessions ADD COLUMN confirmed_at TEXT;
--> statement-breakpoint
CREATE TABLE known_browsers (
  user_id TEXT NOT NULL REFERENCES users (id),
  token_hash TEXT NOT NULL,
  seen_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  PRIMARY KEY (user_id, token_hash)
);
--> statement-breakpoint
CREATE INDEX known_browsers_by_token ON known_browsers (token_hash);
--> statement-breakpoint
CREATE TABLE second_factors (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  sealed_secret TEXT NOT NULL,
  created_at TEXT NOT NULL,
  confirmed_at TEXT,
  last_step INTEGER NOT NULL
);
--> statement-breakpoint
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL REFERENCES users (id),
  code_hash TEXT NOT NULL,
  used_at TEXT,
  PRIMARY KEY (user_id, code_hash)
);
--> statement-breakpoint
CREATE INDEX access_tokens_by_organization ON access_tokens (organization_id, id);
