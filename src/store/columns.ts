import { customType, text } from "drizzle-orm/sqlite-core";
import type { Json } from "../base/json.ts";
import { LongJson, readStored } from "../base/long-json.ts";

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

/** JSON of a value that may be long: then it comes as its text, which others need not wait for. */
export const longJson = customType<{ data: Json | LongJson; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => (value instanceof LongJson ? value.text : JSON.stringify(value)),
  fromDriver: readStored,
});

/** Named values, each of which may be long; together they come as their text then. */
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

/** A value that is stored as JSON text. SQL null is JavaScript null; JSON `null` is never written. */
export const json = <T>() => text({ mode: "json" }).$type<T>();
