import { carryOut, type Host, readArgs, UsageError } from "./host.ts";
import { printJson, printTable } from "./show.ts";
import { usage } from "./usage.ts";

/** `weir schema [NAME]`: prints the JSON Schema of a configuration file, or lists all. Needs no server. */
export const schema = (args: readonly string[], host: Host) =>
  carryOut(host, usage.schema.line, async () => {
    const { values: flags, positionals } = readArgs({
      args: [...args],
      allowPositionals: true,
      options: { json: { type: "boolean" } },
    });
    const [name, ...more] = positionals;
    if (more.length > 0) throw new UsageError("Name one schema.");
    const { listSchemas, schemaDocument, schemaUrn } = await import("../resources/openapi/schemas.ts");
    if (name !== undefined) return host.out(JSON.stringify(schemaDocument(name, schemaUrn(name)), null, 2));
    const schemas = listSchemas();
    if (flags.json) return printJson(host, JSON.stringify({ schemas }));
    printTable(host, schemas, [
      { title: "NAME", of: (row) => row.name, isWhole: true },
      { title: "OF", of: (row) => row.description },
    ]);
  });
