ALTER TABLE action_runs ADD COLUMN private_to TEXT;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN private_to TEXT;
--> statement-breakpoint
ALTER TABLE artifacts ADD COLUMN private_to TEXT;
