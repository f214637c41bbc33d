ALTER TABLE automation_runs ADD COLUMN is_watched INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
CREATE INDEX automation_runs_watched ON automation_runs (automation_id, completed_at) WHERE is_watched = 1 AND status = 'completed';
--> statement-breakpoint
CREATE INDEX automations_expecting ON automations (id) WHERE json_extract(config, '$.expect') IS NOT NULL AND deleted_at IS NULL;
--> statement-breakpoint
CREATE TABLE automation_watches (
  automation_id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  since TEXT NOT NULL,
  silent_since TEXT,
  empty_run_id TEXT
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE webhook_alerts ADD COLUMN type TEXT NOT NULL DEFAULT 'webhook.failing';
--> statement-breakpoint
CREATE INDEX automation_runs_by_parent ON automation_runs (parent_run_id) WHERE parent_run_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX automation_runs_caused ON automation_runs (cause_run_id) WHERE cause_run_id IS NOT NULL AND completed_at IS NULL;
--> statement-breakpoint
CREATE INDEX action_runs_retrying ON action_runs (parent_action_run_id) WHERE parent_action_run_id IS NOT NULL AND completed_at IS NULL;
--> statement-breakpoint
CREATE INDEX decisions_by_subject ON decisions (subject_id);
