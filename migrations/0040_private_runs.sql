ALTER TABLE action_runs ADD COLUMN private_to TEXT;
--> statement-breakpoint
ALTER TABLE automation_runs ADD COLUMN private_to TEXT;
--> statement-breakpoint
ALTER TABLE artifacts ADD COLUMN private_to TEXT;
--> statement-breakpoint
CREATE INDEX automation_runs_private ON automation_runs (private_to) WHERE private_to IS NOT NULL;
--> statement-breakpoint
UPDATE action_runs SET private_to = turn.owner FROM (SELECT correlation_id, json_extract(actor, '$.id') AS owner FROM chat_turns GROUP BY correlation_id) AS turn WHERE turn.correlation_id = action_runs.correlation_id AND action_runs.trigger_method IN ('agent', 'automation');
--> statement-breakpoint
UPDATE automation_runs SET private_to = turn.owner FROM (SELECT correlation_id, json_extract(actor, '$.id') AS owner FROM chat_turns GROUP BY correlation_id) AS turn WHERE turn.correlation_id = automation_runs.correlation_id AND automation_runs.trigger_method IN ('agent', 'automation');
--> statement-breakpoint
UPDATE artifacts SET private_to = run.private_to FROM action_runs AS run WHERE run.id = artifacts.action_run_id AND run.private_to IS NOT NULL;
