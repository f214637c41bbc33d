import { DuckDBListValue, DuckDBStructValue, DuckDBStructVector, type DuckDBValue } from "@duckdb/node-api";
import driver from "@duckdb/node-api/lib/vectors/dataAccessors.js";

/** Makes the driver read values exactly that it would otherwise read only in part. Applies to the whole process. */
export function readExactly(): void {
  // The driver decodes all strings with this decoder, whose default drops a leading U+FEFF.
  Object.assign(driver, { textDecoder: new TextDecoder("utf-8", { ignoreBOM: true }) });
  Object.assign(DuckDBStructVector.prototype, { getItem: recordAt });
}

/** The driver keeps a record's values by name, which loses all but the last unnamed one. They become a list here. */
function recordAt(this: DuckDBStructVector, index: number): DuckDBValue {
  if (!this.isItemValid(index)) return null;
  const { entryNames } = this.type;
  const values = entryNames.map((_, at) => this.getItemValue(index, at));
  if (entryNames.every((name) => name === "")) return new DuckDBListValue(values);
  const entries: Record<string, DuckDBValue> = Object.create(null); // a name such as __proto__ must not set the prototype
  for (const [at, name] of entryNames.entries()) entries[name] = values[at] ?? null;
  return new DuckDBStructValue(entries);
}
