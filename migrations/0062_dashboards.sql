CREATE TABLE dashboards (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  description TEXT,
  filters TEXT NOT NULL,
  panels TEXT NOT NULL,
  refresh_seconds INTEGER,
  share_hash TEXT,
  sealed_share_token TEXT
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX dashboards_by_slug ON dashboards (organization_id, slug);
--> statement-breakpoint
CREATE INDEX dashboards_by_organization ON dashboards (organization_id, id);
--> statement-breakpoint
CREATE UNIQUE INDEX dashboards_by_share ON dashboards (share_hash) WHERE share_hash IS NOT NULL;
