import { primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A browser in which the person has signed in before. It lets nobody in. */
export const knownBrowsers = sqliteTable(
  "known_browsers",
  {
    userId: text().notNull(),
    /** SHA-256 of its cookie, hex; one browser may be known to several accounts. */
    tokenHash: text().notNull(),
    seenAt: text().notNull(),
    expiresAt: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.tokenHash] })],
);
