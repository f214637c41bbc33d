-- On PostgreSQL it looked for each new event among all others.
DROP TRIGGER IF EXISTS events_no_replace;
--> statement-breakpoint
CREATE TRIGGER events_no_replace BEFORE INSERT ON events WHEN NEW.seq > 0 AND EXISTS (SELECT 1 FROM events e WHERE e.seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
