import { primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A browser in which the user has signed in before. It doesn't give access. */
export const knownBrowsers = sqliteTable(
  "known_browsers",
  {
    userId: text().notNull(),
    /** SHA-256 of its cookie, hex. One browser can be known to several accounts. */
    tokenHash: text().notNull(),
    seenAt: text().notNull(),
    expiresAt: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.tokenHash] })],
);
