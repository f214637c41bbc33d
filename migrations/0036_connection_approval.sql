ALTER TABLE connections ADD COLUMN approval_required TEXT NOT NULL DEFAULT 'none';
