ALTER TABLE organizations ADD COLUMN removed_at TEXT;
--> statement-breakpoint
ALTER TABLE organizations ADD COLUMN kept_memberships TEXT;
--> statement-breakpoint
ALTER TABLE organizations ADD COLUMN quotas TEXT;
--> statement-breakpoint
ALTER TABLE organizations ADD COLUMN egress_allow TEXT;
--> statement-breakpoint
CREATE INDEX organizations_removed ON organizations (removed_at) WHERE removed_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX organizations_with_quotas ON organizations (id) WHERE quotas IS NOT NULL;
