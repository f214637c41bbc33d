-- How an API says that it wants to know its callers, as its description had it; null where nobody knows.
ALTER TABLE api_catalog ADD COLUMN auth_hints TEXT;
