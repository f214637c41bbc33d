ALTER TABLE device_codes ADD COLUMN ends_at TEXT;
--> statement-breakpoint
ALTER TABLE sessions ADD COLUMN ends_at TEXT;
