-- Every commit and every compaction of a table, numbered: what Iceberg calls its snapshots.
CREATE TABLE lake_snapshots (
  organization_id TEXT NOT NULL,
  layer TEXT NOT NULL,
  dataset TEXT NOT NULL,
  table_name TEXT NOT NULL,
  number INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  load_id TEXT,
  operation TEXT NOT NULL,
  committed_at TEXT NOT NULL,
  files INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  published TEXT,
  PRIMARY KEY (organization_id, layer, dataset, table_name, number)
);
--> statement-breakpoint
INSERT INTO lake_snapshots (organization_id, layer, dataset, table_name, number, seq, load_id, operation, committed_at, files, rows, bytes)
SELECT organization_id, layer, dataset, table_name, 1, seq, NULL, 'append', updated_at, files, rows, bytes FROM lake_tables;
--> statement-breakpoint
ALTER TABLE lake_tables ADD COLUMN snapshot INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE lake_tables ADD COLUMN published_snapshot INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE lake_tables ADD COLUMN published TEXT;
--> statement-breakpoint
UPDATE lake_tables SET snapshot = 1;
--> statement-breakpoint
CREATE INDEX lake_tables_unpublished ON lake_tables (organization_id, layer, dataset, table_name) WHERE published_snapshot < snapshot;
--> statement-breakpoint
ALTER TABLE lake_files ADD COLUMN added_snapshot INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE lake_files ADD COLUMN removed_snapshot INTEGER;
--> statement-breakpoint
UPDATE lake_files SET added_snapshot = 1, removed_snapshot = CASE WHEN removed_at IS NULL THEN NULL ELSE 1 END;
--> statement-breakpoint
ALTER TABLE lake_files ADD COLUMN is_mixed INTEGER NOT NULL DEFAULT 0;
