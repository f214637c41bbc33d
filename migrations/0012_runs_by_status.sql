CREATE INDEX action_runs_by_status ON action_runs (organization_id, status, id) WHERE status <> 'completed';
