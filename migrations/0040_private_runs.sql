ALTER TABLE action_runs ADD COLUMN private_to TEXT;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN private_to TEXT;
--> statement-breakpoint
ALTER TABLE artifacts ADD COLUMN private_to TEXT;
--> statement-breakpoint
CREATE INDEX automation_runs_private ON automation_runs (private_to) WHERE private_to IS NOT NULL;
