CREATE TABLE automation_run_configs (
  automation_run_id TEXT PRIMARY KEY,
  config TEXT NOT NULL
) WITHOUT ROWID;
