CREATE TABLE llm_usage (
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  day TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  replies INTEGER NOT NULL,
  PRIMARY KEY (organization_id, day)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE agent_specs (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  description TEXT,
  frontmatter TEXT NOT NULL,
  markdown TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX agent_specs_by_slug ON agent_specs (organization_id, slug);
--> statement-breakpoint
CREATE INDEX agent_specs_by_organization ON agent_specs (organization_id, id);
--> statement-breakpoint
CREATE INDEX agent_specs_by_owner ON agent_specs (organization_id, created_by, id);
--> statement-breakpoint
CREATE TABLE chat_threads (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  owner_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  agent_spec_id TEXT NOT NULL,
  title TEXT,
  last_turn_status TEXT NOT NULL,
  active_turn_id TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX chat_threads_by_owner ON chat_threads (organization_id, owner_id, id);
--> statement-breakpoint
CREATE TABLE chat_messages (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  thread_id TEXT NOT NULL REFERENCES chat_threads (id) ON DELETE CASCADE,
  turn_id TEXT NOT NULL,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  format TEXT NOT NULL,
  raw_data TEXT NOT NULL,
  cancelled INTEGER NOT NULL DEFAULT 0,
  duration_seconds REAL,
  created_by TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX chat_messages_by_thread ON chat_messages (thread_id, id);
--> statement-breakpoint
CREATE TABLE chat_turns (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  thread_id TEXT NOT NULL REFERENCES chat_threads (id) ON DELETE CASCADE,
  agent_spec_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  status TEXT NOT NULL,
  timezone TEXT,
  steps INTEGER NOT NULL DEFAULT 0,
  usage TEXT NOT NULL,
  pending TEXT NOT NULL,
  error TEXT,
  actor TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  boot_id TEXT,
  lease_until TEXT,
  cancel_requested_at TEXT,
  partial_text TEXT,
  created_at TEXT NOT NULL,
  started_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  completed_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX chat_turns_by_thread ON chat_turns (thread_id, id);
--> statement-breakpoint
CREATE INDEX chat_turns_open ON chat_turns (status, id) WHERE status IN ('streaming', 'waiting');
--> statement-breakpoint
ALTER TABLE action_runs ADD COLUMN input TEXT;
--> statement-breakpoint
CREATE INDEX action_runs_by_agent ON action_runs (organization_id, correlation_id) WHERE trigger_method = 'agent';
--> statement-breakpoint
CREATE INDEX automation_runs_by_agent ON automation_runs (organization_id, correlation_id) WHERE trigger_method = 'agent';
