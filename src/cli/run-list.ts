import { numberInput, wideInput } from "./input.ts";
import { type Column, printJson, printTable, reportMore } from "./show.ts";
import { type Api, apiOf, type CommandInput, LISTING, type TextReply, type Verb, verb } from "./verbs.ts";

const FILTERS = {
  status: { type: "string", multiple: true },
  trigger: { type: "string" },
  since: { type: "string" },
  until: { type: "string" },
  ...LISTING,
} as const;

interface Page<Run> {
  runs: Run[];
  hasNext: boolean;
  offset: number;
  total: number;
}

interface Filters {
  statuses?: string[];
  trigger_method?: string;
  since?: string;
  until?: string;
  limit?: number;
  offset?: number;
}

/** A subcommand that lists action runs or automation runs, with the filters of both and those in `options`. */
export const runList = <const O extends Verb["options"], Run>(list: {
  options: O;
  columns: readonly Column<Run>[];
  ask(api: Api, filters: Filters, flags: CommandInput<O>["flags"]): Promise<TextReply<Page<Run>>>;
}): Verb =>
  verb({
    options: { ...list.options, ...FILTERS },
    async run({ flags: allFlags, host }) {
      const flags = allFlags as CommandInput<typeof FILTERS>["flags"];
      const isWide = wideInput(flags.output);
      const filters = {
        statuses: flags.status,
        trigger_method: flags.trigger,
        since: flags.since,
        until: flags.until,
        limit: numberInput("--limit", flags.limit),
        offset: numberInput("--offset", flags.offset),
      };
      const listFlags = allFlags as CommandInput<O>["flags"];
      const { body, text } = await list.ask(apiOf({ flags, host }), filters as Filters, listFlags);
      if (flags.json) return printJson(host, text);
      printTable(host, body.runs, list.columns, { isWide });
      reportMore(host, body, body.runs.length);
    },
  });
