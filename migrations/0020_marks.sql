CREATE TABLE connection_marks (
  connection_id TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  settings_hash TEXT NOT NULL,
  kept_at TEXT NOT NULL,
  PRIMARY KEY (connection_id, name)
) STRICT, WITHOUT ROWID;
