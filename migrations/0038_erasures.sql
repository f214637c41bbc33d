ALTER TABLE events ADD COLUMN redacted_at TEXT;
--> statement-breakpoint
CREATE TABLE trail_redactions (
  seq INTEGER PRIMARY KEY,
  organization_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  redacted_hash TEXT NOT NULL,
  mac TEXT NOT NULL,
  key_id TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX trail_redactions_by_organization ON trail_redactions (organization_id, seq);
--> statement-breakpoint
DROP TRIGGER IF EXISTS events_no_update;
--> statement-breakpoint
CREATE TRIGGER events_no_update BEFORE UPDATE ON events WHEN NEW.redacted_at IS NULL OR NEW.seq <> OLD.seq OR NEW.hash <> OLD.hash OR NOT EXISTS (SELECT 1 FROM trail_erasures t WHERE t.organization_id = OLD.organization_id) BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
--> statement-breakpoint
ALTER TABLE users ADD COLUMN erased_at TEXT;
--> statement-breakpoint
CREATE TABLE user_erasures (
  user_id TEXT PRIMARY KEY REFERENCES users (id),
  sealed_address TEXT,
  begun_at TEXT NOT NULL
) STRICT;
