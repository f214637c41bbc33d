CREATE TABLE saved_queries (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  description TEXT,
  sql TEXT NOT NULL,
  parameters TEXT NOT NULL,
  chart TEXT
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX saved_queries_by_slug ON saved_queries (organization_id, slug);
--> statement-breakpoint
CREATE INDEX saved_queries_by_organization ON saved_queries (organization_id, id);
