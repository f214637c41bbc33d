ALTER TABLE automations ADD COLUMN next_run_at TEXT;
--> statement-breakpoint
ALTER TABLE automations ADD COLUMN event_after_seq INTEGER;
--> statement-breakpoint
CREATE INDEX automations_by_next_run ON automations (next_run_at) WHERE next_run_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX automations_by_event ON automations (event_after_seq) WHERE event_after_seq IS NOT NULL;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN scheduled_at TEXT;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN cause_run_id TEXT;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN caller_run_id TEXT;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN root_run_id TEXT;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN is_limited INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
CREATE INDEX automation_runs_by_caller ON automation_runs (caller_run_id) WHERE caller_run_id IS NOT NULL;
--> statement-breakpoint
CREATE UNIQUE INDEX automation_runs_by_schedule ON automation_runs (automation_id, scheduled_at) WHERE scheduled_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX automation_runs_by_root ON automation_runs (root_run_id) WHERE depth >= 3 AND root_run_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX automation_runs_limited ON automation_runs (automation_id, status, id) WHERE is_limited = 1 AND completed_at IS NULL;
--> statement-breakpoint
CREATE TABLE automation_run_items (
  automation_run_id TEXT NOT NULL,
  step_key TEXT NOT NULL,
  item_index INTEGER NOT NULL,
  item TEXT NOT NULL,
  status TEXT NOT NULL,
  action_run_id TEXT,
  UNIQUE (automation_run_id, step_key, item_index)
) STRICT;
--> statement-breakpoint
CREATE INDEX automation_run_items_pending ON automation_run_items (automation_run_id, step_key, item_index) WHERE status = 'pending';
--> statement-breakpoint
CREATE INDEX automation_run_items_by_run ON automation_run_items (action_run_id) WHERE action_run_id IS NOT NULL;
--> statement-breakpoint
CREATE TRIGGER automation_run_items_go AFTER DELETE ON automation_runs BEGIN DELETE FROM automation_run_items WHERE automation_run_id = OLD.id; END;
--> statement-breakpoint
DROP INDEX action_runs_due;
--> statement-breakpoint
CREATE INDEX action_runs_due ON action_runs (organization_id, due_at, id) WHERE status IN ('pending', 'waiting') AND due_at IS NOT NULL;
