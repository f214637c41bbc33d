ALTER TABLE action_runs ADD COLUMN wait_until TEXT;
--> statement-breakpoint
CREATE INDEX action_runs_wait_until ON action_runs (wait_until) WHERE status = 'waiting' AND wait_until IS NOT NULL;
