import { SQLiteAsyncDialect, SQLiteSyncDialect } from "drizzle-orm/sqlite-core";

const CASING = { casing: "snake_case" } as const;

/** One for all handles of the process: it remembers the names of columns. */
export const syncDialect = new SQLiteSyncDialect(CASING);
export const asyncDialect = new SQLiteAsyncDialect(CASING);
