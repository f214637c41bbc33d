ALTER TABLE action_runs ADD COLUMN process_deaths INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
CREATE INDEX action_runs_suspect ON action_runs (due_at) WHERE process_deaths > 1 AND status IN ('pending', 'waiting');
