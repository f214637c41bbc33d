ALTER TABLE chat_threads ADD COLUMN summary TEXT;
