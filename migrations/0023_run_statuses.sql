ALTER TABLE action_runs ADD COLUMN statuses TEXT NOT NULL DEFAULT '[]';
--> statement-breakpoint
ALTER TABLE action_runs ADD COLUMN progress_id INTEGER;
--> statement-breakpoint
UPDATE action_runs SET statuses = CASE status
  WHEN 'pending' THEN json_array(json_array('pending', NULL, created_at, 0))
  ELSE json_array(
    json_array('pending', NULL, created_at, 0),
    json_array(status, wait_kind, updated_at, coalesce((SELECT max(seq) FROM run_logs WHERE run_id = action_runs.id), 0)))
END
WHERE status IN ('pending', 'running', 'waiting') AND status <> 'completed';
