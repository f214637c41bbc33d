CREATE INDEX access_tokens_of_user ON access_tokens (user_id, id);
