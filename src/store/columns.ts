import { text } from "drizzle-orm/sqlite-core";

/** The columns of every noun: who made it and when, who changed it last. Null means the system did. */
export const owned = () => ({
  id: text().primaryKey(),
  organizationId: text().notNull(),
  ...audited(),
});

const audited = () => ({
  createdAt: instant().notNull(),
  createdBy: text(),
  updatedAt: instant().notNull(),
  updatedBy: text(),
});

/** ISO 8601 in UTC with milliseconds, which sorts as text. */
const instant = () => text();

/** A value that is stored as JSON text. SQL null is JavaScript null; JSON `null` is never written. */
export const json = <T>() => text({ mode: "json" }).$type<T>();
