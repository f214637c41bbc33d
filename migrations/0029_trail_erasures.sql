CREATE TABLE trail_erasures (
  organization_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
DROP TRIGGER IF EXISTS events_no_delete;
--> statement-breakpoint
CREATE TRIGGER events_no_delete BEFORE DELETE ON events WHEN NOT EXISTS (SELECT 1 FROM trail_erasures t WHERE t.organization_id = OLD.organization_id) BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
