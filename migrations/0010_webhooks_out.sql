CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL REFERENCES organizations (id),
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  sealed_secret TEXT,
  sealed_previous_secret TEXT,
  previous_until TEXT,
  status TEXT NOT NULL,
  disabled_reason TEXT,
  failing_since TEXT,
  after_seq INTEGER NOT NULL,
  held_from INTEGER,
  held_to INTEGER,
  deleted_at TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX webhooks_by_organization ON webhooks (organization_id, id) WHERE deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX webhooks_active ON webhooks (id) WHERE status = 'active';
--> statement-breakpoint
CREATE INDEX webhooks_deleted ON webhooks (id) WHERE deleted_at IS NOT NULL;
--> statement-breakpoint
CREATE TABLE outbound_deliveries (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  webhook_id TEXT NOT NULL,
  event_seq INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  created_at TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due_at TEXT,
  taken_by TEXT,
  completed_at TEXT,
  reply_code INTEGER,
  duration_ms INTEGER,
  reply_excerpt TEXT,
  error TEXT,
  replay_of TEXT,
  is_test INTEGER NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX outbound_deliveries_by_webhook ON outbound_deliveries (webhook_id, id);
--> statement-breakpoint
CREATE UNIQUE INDEX outbound_deliveries_by_event ON outbound_deliveries (webhook_id, event_seq) WHERE replay_of IS NULL;
--> statement-breakpoint
CREATE INDEX outbound_deliveries_due ON outbound_deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE TABLE outbound_attempts (
  delivery_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  duration_ms INTEGER NOT NULL,
  reply_code INTEGER,
  reply_excerpt TEXT,
  error TEXT,
  PRIMARY KEY (delivery_id, number)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER outbound_deliveries_go AFTER DELETE ON outbound_deliveries BEGIN DELETE FROM outbound_attempts WHERE delivery_id = OLD.id; END;
