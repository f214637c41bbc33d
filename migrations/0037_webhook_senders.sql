ALTER TABLE automations ADD COLUMN sealed_auth TEXT;
--> statement-breakpoint
ALTER TABLE automations ADD COLUMN timestamp_rule TEXT CHECK (timestamp_rule IN ('new', 'seen'));
--> statement-breakpoint
CREATE TABLE webhook_signatures (
  sent_at INTEGER NOT NULL,
  automation_id TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (sent_at, automation_id, signature)
) STRICT, WITHOUT ROWID;
