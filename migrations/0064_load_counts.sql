-- What a load did to each of its tables; null for loads from before this was written down.
ALTER TABLE lake_loads ADD COLUMN tables TEXT;
