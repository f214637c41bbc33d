CREATE TABLE settings (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE counts (
  organization_id TEXT NOT NULL,
  noun TEXT NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (organization_id, noun)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE organizations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  slug TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL,
  webhook_rate TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL UNIQUE,
  first_name TEXT,
  last_name TEXT,
  profile_picture_url TEXT,
  locale TEXT,
  timezone TEXT,
  password_hash TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE memberships (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  user_id TEXT NOT NULL REFERENCES users (id),
  role TEXT NOT NULL,
  is_default INTEGER NOT NULL,
  joined_at TEXT NOT NULL,
  UNIQUE (organization_id, user_id)
) STRICT;
--> statement-breakpoint
CREATE INDEX memberships_by_user ON memberships (user_id);
--> statement-breakpoint
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  token_hash TEXT NOT NULL UNIQUE,
  client_type TEXT NOT NULL,
  device_id TEXT,
  user_agent TEXT,
  ip_address TEXT,
  cli_version TEXT,
  terminal TEXT,
  created_at TEXT NOT NULL,
  last_active_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  revoked_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX sessions_by_user ON sessions (user_id, id);
--> statement-breakpoint
CREATE TABLE access_tokens (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  name TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  last_four TEXT NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT,
  expires_at TEXT NOT NULL,
  revoked_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX access_tokens_by_user ON access_tokens (organization_id, user_id, id);
--> statement-breakpoint
CREATE TABLE idempotency_keys (
  organization_id TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  key TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  reply TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (organization_id, actor_id, key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  type TEXT NOT NULL,
  timestamp TEXT NOT NULL,
  entity_type TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  actor_type TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  actor TEXT NOT NULL,
  data TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX events_by_organization ON events (organization_id);
--> statement-breakpoint
CREATE INDEX events_by_type ON events (organization_id, type);
--> statement-breakpoint
CREATE INDEX events_by_entity ON events (organization_id, entity_id);
--> statement-breakpoint
CREATE INDEX events_by_correlation ON events (organization_id, correlation_id);
--> statement-breakpoint
CREATE TRIGGER events_no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
--> statement-breakpoint
CREATE TRIGGER events_no_replace BEFORE INSERT ON events WHEN NEW.seq > 0 AND EXISTS (SELECT 1 FROM events e WHERE e.seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
--> statement-breakpoint
CREATE TABLE connections (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  provider TEXT NOT NULL,
  status TEXT NOT NULL,
  config TEXT NOT NULL,
  sealed_credentials TEXT NOT NULL,
  has_credentials INTEGER NOT NULL,
  is_default INTEGER NOT NULL,
  template_id TEXT,
  last_used_at TEXT,
  last_verified_at TEXT,
  verification_error TEXT
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX connections_by_slug ON connections (organization_id, slug);
--> statement-breakpoint
CREATE INDEX connections_by_name ON connections (organization_id, name, id);
--> statement-breakpoint
CREATE TABLE actions (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  status TEXT NOT NULL,
  connection_id TEXT REFERENCES connections (id),
  template_id TEXT,
  definition TEXT NOT NULL,
  latest_run_id TEXT,
  deleted_at TEXT
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX actions_by_slug ON actions (organization_id, slug) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX actions_by_creation ON actions (organization_id, created_at, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX actions_by_connection ON actions (connection_id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE TABLE action_runs (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  action_id TEXT,
  automation_run_id TEXT,
  step_key TEXT,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  connection_id TEXT,
  definition TEXT NOT NULL,
  is_resolved INTEGER NOT NULL,
  progress TEXT,
  result TEXT,
  error TEXT,
  retry_count INTEGER NOT NULL,
  interrupt_count INTEGER NOT NULL,
  concurrency_key TEXT,
  dataset_key TEXT,
  idempotency_key TEXT,
  parent_action_run_id TEXT,
  trigger_method TEXT NOT NULL,
  trigger_source_type TEXT NOT NULL,
  trigger_source_id TEXT,
  actor TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  due_at TEXT,
  lease_token TEXT,
  lease_until TEXT,
  boot_id TEXT,
  cancel_requested_at TEXT,
  cancel_request TEXT,
  started_at TEXT,
  completed_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX action_runs_due ON action_runs (due_at, id) WHERE status IN ('pending', 'waiting') AND due_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX action_runs_leased ON action_runs (lease_until) WHERE status = 'running';
--> statement-breakpoint
CREATE INDEX action_runs_by_organization ON action_runs (organization_id, id);
--> statement-breakpoint
CREATE INDEX action_runs_by_action ON action_runs (action_id, id) WHERE action_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX action_runs_by_automation_run ON action_runs (automation_run_id) WHERE automation_run_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX action_runs_by_concurrency ON action_runs (organization_id, concurrency_key, id) WHERE concurrency_key IS NOT NULL AND status IN ('pending', 'running', 'waiting');
--> statement-breakpoint
CREATE INDEX action_runs_by_dataset ON action_runs (organization_id, dataset_key, id) WHERE dataset_key IS NOT NULL AND status IN ('pending', 'running', 'waiting');
--> statement-breakpoint
CREATE TABLE run_logs (
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  timestamp TEXT NOT NULL,
  level TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  action_run_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  storage_type TEXT NOT NULL,
  title TEXT,
  data TEXT,
  path TEXT,
  mime_type TEXT,
  bytes INTEGER NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX artifacts_by_organization ON artifacts (organization_id, id);
--> statement-breakpoint
CREATE INDEX artifacts_by_run ON artifacts (action_run_id);
--> statement-breakpoint
CREATE TABLE lake_tables (
  organization_id TEXT NOT NULL,
  layer TEXT NOT NULL,
  dataset TEXT NOT NULL,
  table_name TEXT NOT NULL,
  columns TEXT NOT NULL,
  rows INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  files INTEGER NOT NULL,
  version INTEGER NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (organization_id, layer, dataset, table_name)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE lake_files (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  layer TEXT NOT NULL,
  dataset TEXT NOT NULL,
  table_name TEXT NOT NULL,
  path TEXT NOT NULL UNIQUE,
  rows INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  load_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  removed_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX lake_files_live ON lake_files (organization_id, layer, dataset, table_name) WHERE removed_at IS NULL;
--> statement-breakpoint
CREATE INDEX lake_files_removed ON lake_files (removed_at) WHERE removed_at IS NOT NULL;
--> statement-breakpoint
CREATE TABLE lake_loads (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  layer TEXT NOT NULL,
  dataset TEXT NOT NULL,
  action_run_id TEXT NOT NULL,
  committed_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX lake_loads_by_dataset ON lake_loads (organization_id, layer, dataset, id);
--> statement-breakpoint
CREATE TABLE extract_cursors (
  organization_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  resource TEXT NOT NULL,
  cursor_field TEXT NOT NULL,
  last_value TEXT NOT NULL,
  boundary TEXT NOT NULL,
  load_id TEXT,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (organization_id, owner_id, resource)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE automations (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  description TEXT,
  config TEXT NOT NULL,
  version INTEGER NOT NULL,
  sealed_secret TEXT,
  webhook_path TEXT,
  orchestrator_type TEXT NOT NULL,
  status TEXT NOT NULL,
  trigger_type TEXT NOT NULL,
  template_id TEXT,
  deleted_at TEXT
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX automations_by_slug ON automations (organization_id, slug) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX automations_by_path ON automations (organization_id, webhook_path) WHERE deleted_at IS NULL AND webhook_path IS NOT NULL;
--> statement-breakpoint
CREATE TABLE automation_versions (
  automation_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  config TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (automation_id, version)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE automation_runs (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  automation_id TEXT NOT NULL,
  automation_version INTEGER NOT NULL,
  delivery_id TEXT,
  parent_run_id TEXT,
  status TEXT NOT NULL,
  trigger_method TEXT NOT NULL,
  trigger_source_type TEXT NOT NULL,
  trigger_source_id TEXT,
  input TEXT,
  scope TEXT NOT NULL,
  steps TEXT NOT NULL,
  result TEXT,
  error TEXT,
  actor TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  due_at TEXT,
  started_at TEXT,
  completed_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX automation_runs_by_automation ON automation_runs (automation_id, id);
--> statement-breakpoint
CREATE INDEX automation_runs_due ON automation_runs (due_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE TABLE webhook_deliveries (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  automation_id TEXT NOT NULL,
  automation_run_id TEXT,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  reply_code INTEGER,
  received_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  next_attempt_at TEXT,
  error TEXT,
  repeat_key TEXT,
  replay_of TEXT,
  ip_address TEXT,
  headers TEXT,
  query TEXT,
  payload TEXT,
  is_kept INTEGER NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX webhook_deliveries_by_automation ON webhook_deliveries (automation_id, id);
--> statement-breakpoint
CREATE INDEX webhook_deliveries_by_organization ON webhook_deliveries (organization_id, id);
--> statement-breakpoint
CREATE INDEX webhook_deliveries_by_repeat_key ON webhook_deliveries (automation_id, repeat_key) WHERE repeat_key IS NOT NULL;
--> statement-breakpoint
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (automation_id, updated_at) WHERE status IN ('failed', 'dead_letter');
--> statement-breakpoint
CREATE TABLE webhook_alerts (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  automation_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  notify_url TEXT NOT NULL,
  body TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX webhook_alerts_by_automation ON webhook_alerts (automation_id, created_at);
--> statement-breakpoint
CREATE INDEX webhook_alerts_due ON webhook_alerts (due_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE TABLE delivery_attempts (
  delivery_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  completed_at TEXT,
  reply_code INTEGER,
  error TEXT,
  PRIMARY KEY (delivery_id, number)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE dead_letters (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  source TEXT NOT NULL,
  source_id TEXT NOT NULL,
  delivery_id TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  first_failed_at TEXT NOT NULL,
  last_failed_at TEXT NOT NULL,
  error TEXT,
  replay_count INTEGER NOT NULL,
  status TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX dead_letters_by_organization ON dead_letters (organization_id, id);
--> statement-breakpoint
CREATE INDEX dead_letters_by_delivery ON dead_letters (delivery_id);
--> statement-breakpoint
CREATE TRIGGER connections_counted AFTER INSERT ON connections BEGIN INSERT INTO counts VALUES (NEW.organization_id, 'connections', 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
--> statement-breakpoint
CREATE TRIGGER connections_uncounted AFTER DELETE ON connections BEGIN UPDATE counts SET n = n - 1 WHERE organization_id = OLD.organization_id AND noun = 'connections'; END;
--> statement-breakpoint
CREATE TRIGGER actions_counted AFTER INSERT ON actions BEGIN INSERT INTO counts VALUES (NEW.organization_id, 'actions', 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
--> statement-breakpoint
CREATE TRIGGER actions_uncounted AFTER UPDATE OF deleted_at ON actions WHEN OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL BEGIN UPDATE counts SET n = n - 1 WHERE organization_id = OLD.organization_id AND noun = 'actions'; END;
--> statement-breakpoint
CREATE TRIGGER actions_deleted AFTER DELETE ON actions WHEN OLD.deleted_at IS NULL BEGIN UPDATE counts SET n = n - 1 WHERE organization_id = OLD.organization_id AND noun = 'actions'; END;
--> statement-breakpoint
CREATE TRIGGER action_runs_counted AFTER INSERT ON action_runs BEGIN INSERT INTO counts VALUES (NEW.organization_id, 'action_runs', 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
--> statement-breakpoint
CREATE TRIGGER action_runs_uncounted AFTER DELETE ON action_runs BEGIN UPDATE counts SET n = n - 1 WHERE organization_id = OLD.organization_id AND noun = 'action_runs'; END;
--> statement-breakpoint
CREATE TRIGGER artifacts_counted AFTER INSERT ON artifacts BEGIN INSERT INTO counts VALUES (NEW.organization_id, 'artifacts', 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
--> statement-breakpoint
CREATE TRIGGER artifacts_uncounted AFTER DELETE ON artifacts BEGIN UPDATE counts SET n = n - 1 WHERE organization_id = OLD.organization_id AND noun = 'artifacts'; END;
--> statement-breakpoint
CREATE TRIGGER automations_counted AFTER INSERT ON automations BEGIN INSERT INTO counts VALUES (NEW.organization_id, 'automations', 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
--> statement-breakpoint
CREATE TRIGGER automations_uncounted AFTER UPDATE OF deleted_at ON automations WHEN OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL BEGIN UPDATE counts SET n = n - 1 WHERE organization_id = OLD.organization_id AND noun = 'automations'; END;
--> statement-breakpoint
CREATE TRIGGER automations_deleted AFTER DELETE ON automations WHEN OLD.deleted_at IS NULL BEGIN UPDATE counts SET n = n - 1 WHERE organization_id = OLD.organization_id AND noun = 'automations'; END;
