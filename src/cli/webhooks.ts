import { AppError } from "../base/errors.ts";
import { plural } from "../base/plural.ts";
import type { Reply } from "../calls.ts";
import { UsageError } from "./host.ts";
import { automationId, isId, numberInput, wideInput } from "./input.ts";
import { type Column, errorText, printJson, printTable, timeColumn } from "./show.ts";
import { apiOf, commandOf, LISTING, verb } from "./verbs.ts";

type DeadLetter = Reply<"GET /api/v1/dead-letters">["items"][number];

const COLUMNS: readonly Column<DeadLetter>[] = [
  { title: "ID", of: ({ id }) => id, isWhole: true },
  { title: "SOURCE", of: ({ source }) => source, extra: 2 },
  { title: "STATUS", of: ({ status }) => status, extra: 3 },
  { title: "ATTEMPTS", of: ({ attempts }) => attempts, extra: 1 },
  timeColumn("LAST FAILED", ({ lastFailedAt }) => lastFailedAt, 4),
  { title: "ERROR", of: ({ error }) => (error === null ? "" : errorText(error)), isName: true },
];

/** `weir webhooks dead-letters|replay` */
export const webhooks = commandOf("webhooks", {
  "dead-letters": verb({
    options: {
      source: { type: "string" },
      automation: { type: "string" },
      webhook: { type: "string" },
      status: { type: "string" },
      limit: { type: "string" },
      cursor: { type: "string" },
      output: LISTING.output,
    },
    async run({ flags, host }) {
      const isWide = wideInput(flags.output);
      const limit = numberInput("--limit", flags.limit);
      const api = apiOf({ flags, host });
      const { body, text } = await api.call("GET /api/v1/dead-letters", {
        query: {
          source: flags.source,
          automation_id:
            flags.automation === undefined ? undefined : await automationId(api, flags.automation),
          webhook_id: flags.webhook,
          status: flags.status,
          limit,
          cursor: flags.cursor,
        },
      });
      if (flags.json) return printJson(host, text);
      printTable(host, body.items, COLUMNS, { isWide });
      if (body.nextCursor !== undefined && host.isTerminal)
        host.err(`Next page: --cursor ${body.nextCursor}`);
    },
  }),
  replay: verb({
    words: "[DEAD_LETTER...]",
    options: { automation: { type: "string" }, webhook: { type: "string" } },
    async run({ flags, words: ids, host }) {
      const ways = [ids[0], flags.automation, flags.webhook].filter((way) => way !== undefined);
      if (ways.length !== 1)
        throw new UsageError("Specify what to replay: IDs of dead letters, --automation or --webhook.");
      const wrong = ids.find((id) => !isId(id));
      if (wrong !== undefined) throw new UsageError(`Invalid dead letter ID: ${wrong}.`);
      const api = apiOf({ flags, host });
      const { body, text } = await api.call("POST /api/v1/dead-letters/replay", {
        body: {
          ...(ids.length > 0 ? { ids } : {}),
          automationId:
            flags.automation === undefined ? undefined : await automationId(api, flags.automation),
          webhookId: flags.webhook,
        },
      });
      if (flags.json) printJson(host, text);
      else host.out(`${plural(body.replayed, { one: "dead letter", other: "dead letters" })} replayed.`);
      const left = new Set(ids).size - body.replayed;
      if (left > 0) {
        throw new AppError(
          "invalid_state",
          `${plural(left, { one: "dead letter wasn't", other: "dead letters weren't" })} found, or already replayed.`,
        );
      }
    },
  }),
});
