CREATE INDEX connections_by_creation ON connections (organization_id, created_at, id);
--> statement-breakpoint
CREATE INDEX connections_by_update ON connections (organization_id, updated_at, id);
--> statement-breakpoint
CREATE INDEX connections_by_verification ON connections (organization_id, coalesce(last_verified_at, ''), id);
--> statement-breakpoint
CREATE INDEX connections_by_status ON connections (organization_id, status, id);
--> statement-breakpoint
CREATE INDEX connections_by_provider ON connections (organization_id, provider, id);
--> statement-breakpoint
CREATE INDEX actions_by_name ON actions (organization_id, name, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX actions_by_update ON actions (organization_id, updated_at, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX actions_by_status ON actions (organization_id, status, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX actions_by_kind ON actions (organization_id, kind, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX automations_by_organization ON automations (organization_id, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX memberships_by_joining ON memberships (organization_id, joined_at, id);
--> statement-breakpoint
CREATE INDEX memberships_by_home ON memberships (user_id, is_default DESC, id);
--> statement-breakpoint
DROP INDEX memberships_by_user;
