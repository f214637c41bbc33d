ALTER TABLE automations ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
--> statement-breakpoint
ALTER TABLE actions ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
--> statement-breakpoint
CREATE INDEX automations_by_name ON automations (organization_id, name, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX automations_by_update ON automations (organization_id, updated_at, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX automations_by_status ON automations (organization_id, status, id) WHERE deleted_at IS NULL;
