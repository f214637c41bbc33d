ALTER TABLE users ADD COLUMN address_proven_at TEXT;
--> statement-breakpoint
ALTER TABLE users ADD COLUMN is_operator INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
UPDATE users SET is_operator = 1 WHERE id = (SELECT min(id) FROM users);
--> statement-breakpoint
UPDATE users SET address_proven_at = created_at
WHERE is_operator = 1 OR id IN (SELECT user_id FROM openid_identities);
--> statement-breakpoint
ALTER TABLE access_tokens ADD COLUMN organizations TEXT NOT NULL DEFAULT 'current';
--> statement-breakpoint
ALTER TABLE device_codes ADD COLUMN is_confined INTEGER NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE sessions ADD COLUMN is_confined INTEGER NOT NULL DEFAULT 0;
