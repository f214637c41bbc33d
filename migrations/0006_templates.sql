CREATE TABLE templates (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  slug TEXT NOT NULL,
  version INTEGER NOT NULL,
  display_name TEXT NOT NULL,
  description TEXT,
  icon_url TEXT,
  kind TEXT,
  template_type TEXT NOT NULL,
  status TEXT NOT NULL,
  definition TEXT NOT NULL,
  input_defaults TEXT NOT NULL,
  input_json_schema TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX templates_by_slug ON templates (organization_id, slug, version);
--> statement-breakpoint
CREATE UNIQUE INDEX templates_draft ON templates (organization_id, slug) WHERE status = 'draft';
--> statement-breakpoint
CREATE INDEX templates_by_organization ON templates (organization_id, id);
--> statement-breakpoint
CREATE INDEX templates_published ON templates (organization_id, template_type, slug, version) WHERE status = 'published';
--> statement-breakpoint
CREATE TABLE bundle_installs (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  bundle_slug TEXT NOT NULL,
  template_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  sealed_fingerprint TEXT NOT NULL,
  components TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX bundle_installs_by_slug ON bundle_installs (organization_id, bundle_slug, id);
--> statement-breakpoint
CREATE INDEX bundle_installs_by_template ON bundle_installs (template_id);
--> statement-breakpoint
ALTER TABLE connections ADD COLUMN definition TEXT;
--> statement-breakpoint
CREATE INDEX connections_by_template ON connections (template_id) WHERE template_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX actions_by_template ON actions (template_id) WHERE template_id IS NOT NULL;
--> statement-breakpoint
CREATE INDEX automations_by_template ON automations (template_id) WHERE template_id IS NOT NULL;
--> statement-breakpoint
CREATE TABLE connection_tokens (
  connection_id TEXT PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
  organization_id TEXT NOT NULL,
  sealed_token TEXT NOT NULL,
  settings_hash TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
