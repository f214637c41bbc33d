ALTER TABLE invitations ADD COLUMN mail_token_hash TEXT;
--> statement-breakpoint
CREATE UNIQUE INDEX invitations_by_mail_token ON invitations (mail_token_hash);
--> statement-breakpoint
CREATE TABLE password_resets (
  token_hash TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES users (id),
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX password_resets_by_user ON password_resets (user_id);
--> statement-breakpoint
ALTER TABLE memberships ADD COLUMN identity_group TEXT;
