ALTER TABLE access_tokens ADD COLUMN scopes TEXT;
