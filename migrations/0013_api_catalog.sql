CREATE TABLE api_catalog (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  description TEXT NOT NULL,
  type TEXT NOT NULL,
  status TEXT NOT NULL,
  url TEXT,
  base_url TEXT,
  address_key TEXT NOT NULL,
  transport TEXT,
  connection_id TEXT,
  approval_required INTEGER NOT NULL,
  endpoint_count INTEGER NOT NULL,
  tool_count INTEGER NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX api_catalog_by_name ON api_catalog (organization_id, name);
--> statement-breakpoint
CREATE UNIQUE INDEX api_catalog_by_slug ON api_catalog (organization_id, slug);
--> statement-breakpoint
CREATE INDEX api_catalog_by_organization ON api_catalog (organization_id, id);
--> statement-breakpoint
CREATE INDEX api_catalog_by_address ON api_catalog (organization_id, type, address_key, id);
--> statement-breakpoint
CREATE INDEX api_catalog_by_connection ON api_catalog (connection_id) WHERE connection_id IS NOT NULL;
--> statement-breakpoint
CREATE TABLE api_catalog_items (
  api_id TEXT NOT NULL,
  name TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  enabled INTEGER NOT NULL,
  approval_required INTEGER NOT NULL,
  status TEXT NOT NULL,
  definition TEXT NOT NULL,
  definition_hash TEXT,
  pending TEXT,
  first_seen_at TEXT,
  last_seen_at TEXT,
  PRIMARY KEY (api_id, name)
) STRICT;
--> statement-breakpoint
CREATE INDEX api_catalog_items_by_place ON api_catalog_items (api_id, position);
