CREATE INDEX api_catalog_items_by_name ON api_catalog_items (organization_id, name, api_id);
