CREATE TABLE slack_links (
  team_id TEXT NOT NULL,
  slack_user_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (team_id, slack_user_id)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE slack_link_tokens (
  token_hash TEXT PRIMARY KEY,
  team_id TEXT NOT NULL,
  team_name TEXT NOT NULL,
  slack_user_id TEXT NOT NULL,
  slack_user_name TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX slack_link_tokens_by_end ON slack_link_tokens (expires_at);
--> statement-breakpoint
CREATE TABLE slack_seen (
  key TEXT PRIMARY KEY,
  seen_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX slack_seen_by_time ON slack_seen (seen_at);
--> statement-breakpoint
CREATE TABLE slack_replies (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  sealed_target TEXT NOT NULL,
  run_kind TEXT,
  run_id TEXT,
  text TEXT,
  attempts INTEGER NOT NULL,
  due_at TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX slack_replies_by_due ON slack_replies (due_at);
