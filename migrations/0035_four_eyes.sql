ALTER TABLE organizations ADD COLUMN require_four_eyes INTEGER NOT NULL DEFAULT 0;
