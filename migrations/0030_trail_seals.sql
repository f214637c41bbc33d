CREATE TABLE trail_heads (
  organization_id TEXT PRIMARY KEY,
  count INTEGER NOT NULL,
  hash TEXT NOT NULL,
  mac TEXT NOT NULL,
  key_id TEXT NOT NULL,
  seal_count INTEGER NOT NULL DEFAULT 0,
  seal_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE trail_seals (
  organization_id TEXT NOT NULL,
  count INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  hash TEXT NOT NULL,
  created_at TEXT NOT NULL,
  mac TEXT NOT NULL,
  key_id TEXT NOT NULL,
  PRIMARY KEY (organization_id, count)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE trail_erasures (
  organization_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
DROP TRIGGER IF EXISTS events_no_delete;
--> statement-breakpoint
CREATE TRIGGER events_no_delete BEFORE DELETE ON events WHEN NOT EXISTS (SELECT 1 FROM trail_erasures t WHERE t.organization_id = OLD.organization_id) BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
