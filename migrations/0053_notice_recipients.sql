ALTER TABLE automations ADD COLUMN sealed_notify TEXT;
--> statement-breakpoint
CREATE TABLE automation_troubles (
  automation_id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  since TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE automation_watches ADD COLUMN late_at TEXT;
--> statement-breakpoint
DROP INDEX automations_expecting;
--> statement-breakpoint
CREATE INDEX automations_expecting ON automations (id)
WHERE (json_extract(config, '$.expect') IS NOT NULL OR json_extract(config, '$.alerts.lateAfterSeconds') IS NOT NULL) AND deleted_at IS NULL;
--> statement-breakpoint
CREATE TABLE notice_preferences (
  user_id TEXT PRIMARY KEY,
  approvals TEXT NOT NULL,
  failures TEXT NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX notice_preferences_failures ON notice_preferences (failures);
