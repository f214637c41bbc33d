CREATE TABLE automation_drafts (
  automation_id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  config TEXT NOT NULL,
  based_on INTEGER NOT NULL,
  changed_by TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX automation_drafts_by_organization ON automation_drafts (organization_id);
--> statement-breakpoint
CREATE TABLE automation_layouts (
  automation_id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  layout TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX automation_layouts_by_organization ON automation_layouts (organization_id);
