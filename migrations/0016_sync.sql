CREATE TABLE sync_files (
  organization_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  place TEXT NOT NULL,
  path TEXT NOT NULL,
  source_version TEXT NOT NULL,
  target_version TEXT NOT NULL,
  size INTEGER NOT NULL,
  detail TEXT,
  action_run_id TEXT NOT NULL,
  copied_at TEXT NOT NULL,
  PRIMARY KEY (organization_id, owner_id, place, path)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE sync_tables (
  organization_id TEXT NOT NULL,
  layer TEXT NOT NULL,
  dataset TEXT NOT NULL,
  table_name TEXT NOT NULL,
  source_organization_id TEXT NOT NULL,
  source_version INTEGER NOT NULL,
  version INTEGER NOT NULL,
  is_own INTEGER NOT NULL,
  is_whole INTEGER NOT NULL,
  synced_at TEXT NOT NULL,
  PRIMARY KEY (organization_id, layer, dataset, table_name, source_organization_id)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE sync_copies (
  organization_id TEXT NOT NULL,
  layer TEXT NOT NULL,
  dataset TEXT NOT NULL,
  table_name TEXT NOT NULL,
  source_organization_id TEXT NOT NULL,
  source_file_id TEXT NOT NULL,
  file_id TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  PRIMARY KEY (organization_id, layer, dataset, table_name, source_organization_id, source_file_id)
) STRICT, WITHOUT ROWID;
