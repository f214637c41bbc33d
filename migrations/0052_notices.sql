CREATE TABLE notices (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  kind TEXT NOT NULL,
  automation_id TEXT,
  thing TEXT NOT NULL,
  channel TEXT NOT NULL,
  target TEXT NOT NULL,
  user_id TEXT,
  facts TEXT NOT NULL,
  count INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  due_at TEXT,
  taken_by TEXT,
  sent_at TEXT,
  error TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX notices_due ON notices (due_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX notices_by_thing ON notices (thing, created_at);
--> statement-breakpoint
CREATE UNIQUE INDEX notices_open ON notices (thing) WHERE due_at IS NOT NULL AND attempts = 0 AND taken_by IS NULL;
--> statement-breakpoint
CREATE INDEX notices_by_automation ON notices (automation_id, created_at);
--> statement-breakpoint
CREATE INDEX notices_by_organization ON notices (organization_id, id);
--> statement-breakpoint
CREATE INDEX notices_by_user ON notices (user_id) WHERE user_id IS NOT NULL;
--> statement-breakpoint
INSERT INTO notices
SELECT id, organization_id, created_at, type, automation_id, id, 'url', notify_url, NULL,
  json_remove(body, '$.id', '$.type', '$.timestamp', '$.organizationId'),
  1, attempts, due_at, NULL, NULL, NULL
FROM webhook_alerts;
--> statement-breakpoint
DROP TABLE webhook_alerts;
