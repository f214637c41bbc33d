ALTER TABLE action_runs ADD COLUMN private_to TEXT;
ALTER TABLE automation_runs ADD COLUMN private_to TEXT;
ALTER TABLE artifacts ADD COLUMN private_to TEXT;
