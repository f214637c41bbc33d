CREATE TABLE automation_run_results (
  automation_run_id TEXT NOT NULL,
  step_key TEXT NOT NULL,
  seq INTEGER NOT NULL,
  first_index INTEGER NOT NULL,
  completed TEXT NOT NULL,
  failed TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (automation_run_id, step_key, seq)
);
