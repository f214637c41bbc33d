import { customType, text } from "drizzle-orm/sqlite-core";
import type { Json } from "../base/json.ts";
import { LongJson, readStored } from "../base/long-json.ts";

/** Columns that every resource has: who created it and when, and who changed it last. Null means the system. */
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

/** JSON of a value that may be long. A long one is read as text, so that parsing it doesn't block others. */
export const longJson = customType<{ data: Json | LongJson; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => (value instanceof LongJson ? value.text : JSON.stringify(value)),
  fromDriver: readStored,
});

/** Named values, each of which may be long. Together they are then read as text. */
export const longValues = customType<{ data: LongValues | LongJson; driverData: string }>({
  dataType: () => "text",
  toDriver: (values) => (values instanceof LongJson ? values.text : writeValues(values)),
  fromDriver: (text) => readStored(text) as LongValues | LongJson,
});

export type LongValues = Record<string, Json | LongJson>;

const writeValues = (values: LongValues): string =>
  `{${Object.entries(values)
    .map(
      ([name, value]) =>
        `${JSON.stringify(name)}:${value instanceof LongJson ? value.text : JSON.stringify(value)}`,
    )
    .join(",")}}`;

/** A value stored as JSON text. SQL NULL is JavaScript null; JSON `null` is never written. */
export const json = <T>() => text({ mode: "json" }).$type<T>();
