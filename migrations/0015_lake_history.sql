ALTER TABLE lake_loads ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE lake_loads ADD COLUMN kind TEXT NOT NULL DEFAULT '';
--> statement-breakpoint
ALTER TABLE lake_loads ADD COLUMN action_id TEXT;
--> statement-breakpoint
UPDATE lake_loads SET seq = (
  SELECT n FROM (SELECT id, row_number() OVER (PARTITION BY organization_id ORDER BY committed_at, id) AS n FROM lake_loads) numbered
  WHERE numbered.id = lake_loads.id);
--> statement-breakpoint
UPDATE lake_loads SET
  kind = coalesce((SELECT r.kind FROM action_runs r WHERE r.id = lake_loads.action_run_id), ''),
  action_id = (SELECT r.action_id FROM action_runs r WHERE r.id = lake_loads.action_run_id);
--> statement-breakpoint
CREATE UNIQUE INDEX lake_loads_by_seq ON lake_loads (organization_id, seq);
--> statement-breakpoint
ALTER TABLE lake_files ADD COLUMN part TEXT;
--> statement-breakpoint
ALTER TABLE lake_files ADD COLUMN added_seq INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE lake_files ADD COLUMN removed_seq INTEGER;
--> statement-breakpoint
UPDATE lake_files SET added_seq = coalesce((SELECT l.seq FROM lake_loads l WHERE l.id = lake_files.load_id), 0);
--> statement-breakpoint
CREATE INDEX lake_files_past ON lake_files (organization_id, layer, dataset, table_name, removed_seq) WHERE removed_seq IS NOT NULL;
--> statement-breakpoint
CREATE INDEX lake_files_dropped ON lake_files (removed_at) WHERE removed_at IS NOT NULL AND removed_seq IS NULL;
--> statement-breakpoint
ALTER TABLE lake_tables ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE lake_tables ADD COLUMN kept_from INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE lake_tables ADD COLUMN spare_files INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
UPDATE lake_tables SET
  seq = (SELECT coalesce(max(l.seq), 0) FROM lake_loads l WHERE l.organization_id = lake_tables.organization_id),
  kept_from = (SELECT coalesce(max(l.seq), 0) FROM lake_loads l WHERE l.organization_id = lake_tables.organization_id),
  spare_files = max(0, files - 1);
--> statement-breakpoint
CREATE INDEX lake_tables_crowded ON lake_tables (spare_files) WHERE spare_files > 31;
--> statement-breakpoint
CREATE TABLE lake_schemas (
  organization_id TEXT NOT NULL,
  layer TEXT NOT NULL,
  dataset TEXT NOT NULL,
  table_name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  columns TEXT NOT NULL,
  PRIMARY KEY (organization_id, layer, dataset, table_name, seq)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO lake_schemas (organization_id, layer, dataset, table_name, seq, columns)
SELECT organization_id, layer, dataset, table_name, 0, columns FROM lake_tables;
--> statement-breakpoint
CREATE TABLE lake_reads (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  layer TEXT NOT NULL,
  dataset TEXT NOT NULL,
  tables TEXT NOT NULL,
  action_run_id TEXT NOT NULL,
  action_id TEXT,
  kind TEXT NOT NULL,
  load_id TEXT,
  read_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX lake_reads_by_dataset ON lake_reads (organization_id, layer, dataset, id);
--> statement-breakpoint
CREATE INDEX lake_reads_by_load ON lake_reads (load_id) WHERE load_id IS NOT NULL;
