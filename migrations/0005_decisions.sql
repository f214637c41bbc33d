ALTER TABLE action_runs ADD COLUMN wait_kind TEXT;
--> statement-breakpoint
ALTER TABLE action_runs ADD COLUMN wait_id TEXT;
--> statement-breakpoint
CREATE UNIQUE INDEX action_runs_by_wait ON action_runs (wait_id) WHERE wait_id IS NOT NULL;
--> statement-breakpoint
CREATE TABLE decisions (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  title TEXT NOT NULL,
  description TEXT,
  decision_type TEXT NOT NULL,
  status TEXT NOT NULL,
  subject_type TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  automation_id TEXT,
  automation_run_id TEXT,
  step_key TEXT,
  context TEXT,
  form_schema TEXT,
  form_response TEXT,
  decision_value TEXT,
  rejection_reason TEXT,
  requested_by TEXT,
  assigned_to TEXT,
  decided_by TEXT,
  decided_at TEXT,
  expires_at TEXT,
  on_reject TEXT NOT NULL,
  on_expire TEXT NOT NULL,
  correlation_id TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX decisions_by_organization ON decisions (organization_id, id);
--> statement-breakpoint
CREATE INDEX decisions_by_status ON decisions (organization_id, status, id);
--> statement-breakpoint
CREATE INDEX decisions_by_assignee ON decisions (organization_id, assigned_to, status, id) WHERE assigned_to IS NOT NULL;
--> statement-breakpoint
CREATE INDEX decisions_due ON decisions (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
