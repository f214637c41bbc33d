import type { Reply } from "../calls.ts";
import { automationRuns, showAutomationRun } from "./automation-runs.ts";
import { plain } from "./client.ts";
import { automationId, jsonInput, numberInput, wideInput } from "./input.ts";
import { type Column, printJson, printTable, reportMore, timeColumn } from "./show.ts";
import { apiOf, type CommandInput, commandOf, LISTING, verb } from "./verbs.ts";

type Automation = Reply<"GET /api/v1/automations/{automation_id}">;

const COLUMNS: readonly Column<Automation>[] = [
  { title: "ID", of: ({ id }) => id, isWhole: true, extra: 1 },
  { title: "SLUG", of: ({ slug }) => slug, isName: true },
  { title: "TRIGGER", of: ({ triggerType }) => triggerType },
  { title: "STATUS", of: ({ status }) => status },
  { title: "LATEST RUN", of: ({ latestRun }) => latestRun?.status },
  timeColumn("NEXT RUN", ({ nextRunAt }) => nextRunAt, 2),
  { title: "NAME", of: ({ name }) => name, isName: true },
];

/** `weir automations list|run|enable|disable|runs` */
export const automations = commandOf("automations", {
  list: verb({
    options: {
      q: { type: "string" },
      trigger: { type: "string" },
      status: { type: "string" },
      ...LISTING,
    },
    async run({ flags, host }) {
      const isWide = wideInput(flags.output);
      const query = {
        q: flags.q,
        trigger_type: flags.trigger,
        status: flags.status,
        limit: numberInput("--limit", flags.limit),
        offset: numberInput("--offset", flags.offset),
      };
      const { body, text } = await apiOf({ flags, host }).call("GET /api/v1/automations", { query });
      if (flags.json) return printJson(host, text);
      printTable(host, body.automations, COLUMNS, { isWide });
      reportMore(host, body, body.automations.length);
    },
  }),
  run: verb({
    words: "AUTOMATION",
    options: { input: { type: "string" }, wait: { type: "boolean" }, follow: { type: "boolean" } },
    async run({ flags, words, host }) {
      const input = await jsonInput(host, "--input", flags.input);
      const api = apiOf({ flags, host });
      const id = await automationId(api, words[0] ?? "");
      const started = await api.call("POST /api/v1/automations/{automation_id}/run", {
        path: { automation_id: id },
        body: input === undefined ? {} : { input },
      });
      await showAutomationRun({ api, host }, started, flags);
    },
  }),
  enable: verb({
    words: "AUTOMATION",
    run: (input) => setStatus(input, "active"),
  }),
  disable: verb({
    words: "AUTOMATION",
    run: (input) => setStatus(input, "disabled"),
  }),
  ...automationRuns,
});

async function setStatus({ flags, words, host }: CommandInput, status: "active" | "disabled"): Promise<void> {
  const api = apiOf({ flags, host });
  const id = await automationId(api, words[0] ?? "");
  const { body, text } = await api.call("PATCH /api/v1/automations/{automation_id}", {
    path: { automation_id: id },
    body: { status },
  });
  if (flags.json) return printJson(host, text);
  host.out(plain(`Automation ${body.name} is ${body.status}.`));
}
