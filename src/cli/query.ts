import { AppError } from "../base/errors.ts";
import { exactJson, parseNumberTexts } from "../base/json-numbers.ts";
import type { Reply } from "../calls.ts";
import { FirstRows } from "./first-rows.ts";
import { type Host, UsageError } from "./host.ts";
import { jsonInput, numberInput } from "./input.ts";
import { printJson, printTable } from "./show.ts";
import { usage } from "./usage.ts";
import { type Api, apiOf, singleCommand, verb } from "./verbs.ts";

/** Maximum number of rows in a JSON response. */
const MAX_REPLY_ROWS = 10_000;

/** `weir query SQL`: rows of the lake as a table, JSON, JSON lines or CSV. */
export const query = singleCommand(
  usage.query,
  verb({
    words: "SQL",
    options: {
      csv: { type: "boolean" },
      jsonl: { type: "boolean" },
      limit: { type: "string" },
      parameters: { type: "string" },
    },
    async run({ flags, words, host }) {
      const format = formatOf(flags);
      const limit = numberInput("--limit", flags.limit);
      const parameters = await jsonInput(host, "--parameters", flags.parameters, parseNumberTexts);
      const sql = words[0] === "-" ? await host.stdin() : words[0];
      const api = aboutSql(apiOf({ flags, host }));
      if (format !== "json" && format !== "table")
        return stream(host, api, format, { sql, parameters, limit });
      const forPeople = host.width !== null;
      const most = limit ?? (forPeople ? undefined : MAX_REPLY_ROWS);
      const { body, text } = await api.call("POST /api/v1/query", {
        body: { sql, parameters, limit: most },
        isLong: true,
      });
      if (format === "json") printJson(host, text);
      else {
        const columns = body.columns.map(({ name }) => ({ title: name, of: (row: Row) => row[name] }));
        printTable(host, body.rows, columns);
      }
      if (!body.truncated || !host.isRead()) return;
      const shown = `Only the first ${body.rows.length} rows are shown.`;
      if (body.rows.length === limit) return host.err(shown); // as many as requested
      const message = `${shown} For all rows, use --csv or --jsonl.`;
      if (!forPeople) throw new AppError("limit_exceeded", message); // readers of a pipe would take them for all rows
      host.err(message);
    },
  }),
);

/** Streams rows as a file. With a limit, asks for one more, which tells whether rows are left out. */
async function stream(
  host: Host,
  api: Api,
  format: "csv" | "jsonl",
  { limit, ...query }: { sql: string | undefined; parameters: unknown; limit: number | undefined },
): Promise<void> {
  const hasNext = limit !== undefined && limit >= 1 && limit < MAX_REPLY_ROWS;
  const reply = await api.open("POST", `/api/v1/query?format=${format}`, {
    headers: { "content-type": "application/json" },
    body: exactJson({ ...query, limit: hasNext ? limit + 1 : limit }),
  });
  const first = new FirstRows(format, limit ?? Number.POSITIVE_INFINITY);
  for await (const bytes of reply.body) {
    host.write(first.take(bytes));
    if (!host.isRead()) return;
  }
  if (first.isCut) host.err(`Only the first ${first.rows} rows are shown.`);
  else if (!hasNext && first.rows === limit) host.err(`At most ${limit} rows are shown. There may be more.`);
}

/** The command has no other field than the SQL, so errors don't name it. */
function aboutSql(api: Api): Api {
  const rethrow = (error: unknown): never => {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(error.code, error.message.replace(/^sql: /, "").trimEnd(), { cause: error });
  };
  return {
    ...api,
    call: (address, input) => api.call(address, input).catch(rethrow),
    open: (...request) => api.open(...request).catch(rethrow),
  };
}

type Row = Reply<"POST /api/v1/query">["rows"][number];

function formatOf(flags: { json?: boolean; csv?: boolean; jsonl?: boolean }) {
  const formats = (["json", "csv", "jsonl"] as const).filter((name) => flags[name]);
  if (formats.length > 1) throw new UsageError("Use only one of --json, --csv and --jsonl.");
  return formats[0] ?? "table";
}
