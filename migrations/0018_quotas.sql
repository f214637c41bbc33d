CREATE TABLE connection_quotas (
  connection_id TEXT NOT NULL,
  name TEXT NOT NULL,
  tokens REAL NOT NULL,
  at TEXT NOT NULL,
  held_until TEXT,
  PRIMARY KEY (connection_id, name)
) STRICT, WITHOUT ROWID;
