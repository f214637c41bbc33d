-- The list of all automations' runs: its order and what it is filtered by most, none of which ever changes.
CREATE INDEX automation_runs_by_organization ON automation_runs (organization_id, id, automation_id, trigger_method, created_at);
--> statement-breakpoint
CREATE INDEX automation_runs_by_status ON automation_runs (organization_id, status, id) WHERE status <> 'completed';
--> statement-breakpoint
-- What people look for in the runs that failed, so that a search reads no run that does not match.
CREATE INDEX automation_runs_by_error ON automation_runs (organization_id, id, automation_id, json_extract(error, '$.message'), json_extract(error, '$.details.step'), private_to) WHERE error IS NOT NULL;
--> statement-breakpoint
INSERT INTO counts SELECT organization_id, 'automation_runs', count(*) FROM automation_runs GROUP BY organization_id;
--> statement-breakpoint
CREATE TRIGGER automation_runs_counted AFTER INSERT ON automation_runs BEGIN INSERT INTO counts VALUES (NEW.organization_id, 'automation_runs', 1) ON CONFLICT DO UPDATE SET n = n + 1; END;
--> statement-breakpoint
CREATE TRIGGER automation_runs_uncounted AFTER DELETE ON automation_runs BEGIN UPDATE counts SET n = n - 1 WHERE organization_id = OLD.organization_id AND noun = 'automation_runs'; END;
