CREATE TABLE versions (
  entity_type TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  organization_id TEXT NOT NULL,
  content TEXT NOT NULL,
  changes TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT,
  PRIMARY KEY (entity_type, entity_id, version)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX versions_by_organization ON versions (organization_id);
--> statement-breakpoint
ALTER TABLE actions ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
--> statement-breakpoint
ALTER TABLE agent_specs ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
--> statement-breakpoint
ALTER TABLE action_runs ADD COLUMN action_version INTEGER;
--> statement-breakpoint
INSERT INTO versions
SELECT 'action', id, 1, organization_id,
  json_object('name', name, 'slug', slug, 'connectionId', connection_id, 'definition', json(definition)),
  '[]', updated_at, updated_by
FROM actions WHERE deleted_at IS NULL;
--> statement-breakpoint
INSERT INTO versions
SELECT 'agent_spec', id, 1, organization_id, json_object('markdown', markdown), '[]', updated_at, updated_by
FROM agent_specs;
--> statement-breakpoint
INSERT INTO versions
SELECT 'automation', a.id, v.version, a.organization_id,
  json_object('name', a.name, 'description', a.description, 'config', json(v.config)), '[]', v.created_at, a.updated_by
FROM automation_versions v JOIN automations a ON a.id = v.automation_id
WHERE a.deleted_at IS NULL;
