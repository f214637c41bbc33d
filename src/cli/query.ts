import { jsonGiven, numberGiven } from "./given.ts";
import { UsageError } from "./host.ts";
import { printJson, printTable } from "./show.ts";
import { usage } from "./usage.ts";
import { apiOf, singleCommand, verb } from "./verbs.ts";

interface Result {
  columns: { name: string }[];
  rows: Record<string, unknown>[];
  truncated: boolean;
}

/** `weir query SQL`: rows of the lake, as a table, JSON or CSV. */
export const query = singleCommand(
  usage.query,
  verb({
    words: "SQL",
    options: { csv: { type: "boolean" }, limit: { type: "string" }, parameters: { type: "string" } },
    async run({ flags, words, host }) {
      if (flags.csv && flags.json) throw new UsageError("Give either --csv or --json.");
      const limit = numberGiven("--limit", flags.limit);
      const parameters = await jsonGiven(host, "--parameters", flags.parameters);
      const sql = words[0] === "-" ? await host.stdin() : words[0];
      const api = apiOf({ flags, host });
      const asked = { sql, parameters, limit };
      if (flags.csv) {
        const reply = await api.open("POST", "/api/v1/query?format=csv", {
          headers: { "content-type": "application/json" },
          body: JSON.stringify(asked),
        });
        for await (const bytes of reply.body) {
          host.write(bytes);
          if (!host.isRead()) return;
        }
        return;
      }
      const { body, text } = await api.send<Result>("POST", "/api/v1/query", asked, true);
      if (flags.json) return printJson(host, text);
      printTable(
        host,
        body.rows,
        body.columns.map(({ name }) => ({ title: name, of: (row) => row[name] })),
      );
      if (body.truncated && host.isTerminal)
        host.err(`There are more rows than these ${body.rows.length}; see them with --limit or --csv.`);
    },
  }),
);
