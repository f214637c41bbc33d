import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** A user's authenticator app. Required since `confirmedAt`. */
export const secondFactors = sqliteTable("second_factors", {
  userId: text().primaryKey(),
  /** In base64. */
  sealedSecret: text().notNull(),
  createdAt: text().notNull(),
  confirmedAt: text(),
  /** Number of the last accepted code, in steps of 30 s since 1970. No code is accepted twice. */
  lastStep: integer().notNull(),
});

/** Each can be used once instead of a code from the app. */
export const recoveryCodes = sqliteTable(
  "recovery_codes",
  {
    userId: text().notNull(),
    /** SHA-256, hex. */
    codeHash: text().notNull(),
    usedAt: text(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.codeHash] })],
);

export const totpLabel = ({ userId }: { readonly userId: string }) => `user:${userId}:totp`;
