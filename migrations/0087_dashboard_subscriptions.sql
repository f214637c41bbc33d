CREATE TABLE dashboard_subscriptions (
  id TEXT PRIMARY KEY,
  organization_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  created_by TEXT,
  updated_at TEXT NOT NULL,
  updated_by TEXT,
  dashboard_id TEXT NOT NULL,
  cron TEXT NOT NULL,
  timezone TEXT NOT NULL,
  recipients TEXT NOT NULL,
  filters TEXT NOT NULL,
  next_at TEXT,
  last_at TEXT,
  sent_at TEXT,
  error TEXT
) STRICT;
--> statement-breakpoint
CREATE INDEX dashboard_subscriptions_by_dashboard ON dashboard_subscriptions (dashboard_id, id);
--> statement-breakpoint
CREATE INDEX dashboard_subscriptions_by_organization ON dashboard_subscriptions (organization_id, id);
--> statement-breakpoint
CREATE INDEX dashboard_subscriptions_due ON dashboard_subscriptions (next_at) WHERE next_at IS NOT NULL;
