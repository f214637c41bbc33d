CREATE TABLE processes (
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  version TEXT NOT NULL,
  folder_id TEXT NOT NULL,
  lake TEXT NOT NULL,
  key_id TEXT NOT NULL,
  started_at TEXT NOT NULL,
  seen_at TEXT NOT NULL
) STRICT;
