import { DuckDBListValue, DuckDBStructValue, DuckDBStructVector, type DuckDBValue } from "@duckdb/node-api";
import driver from "@duckdb/node-api/lib/vectors/dataAccessors.js";

/** Makes the driver read what it would lose parts of otherwise. For the whole process. */
export function readExactly(): void {
  // It reads every text with this one, whose default drops a U+FEFF that a value begins with.
  Object.assign(driver, { textDecoder: new TextDecoder("utf-8", { ignoreBOM: true }) });
  Object.assign(DuckDBStructVector.prototype, { getItem: recordAt });
}

/** Its own keeps a record's values by name, so that the last is left of those without a name. They are a list here. */
function recordAt(this: DuckDBStructVector, index: number): DuckDBValue {
  if (!this.isItemValid(index)) return null;
  const { entryNames } = this.type;
  const values = entryNames.map((_, at) => this.getItemValue(index, at));
  if (entryNames.every((name) => name === "")) return new DuckDBListValue(values);
  const entries: Record<string, DuckDBValue> = Object.create(null); // no name is taken for the prototype
  for (const [at, name] of entryNames.entries()) entries[name] = values[at] ?? null;
  return new DuckDBStructValue(entries);
}
