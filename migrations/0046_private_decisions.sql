ALTER TABLE decisions ADD COLUMN private_to TEXT;
