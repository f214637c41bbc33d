import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import { type AutomationRun, awaitAutomationRun, reportEnd } from "./follow.ts";
import { automationId, jsonInput, numberInput, wideInput } from "./input.ts";
import { type Column, instantText, printJson, printTable, reportMore } from "./show.ts";
import { apiOf, type CommandInput, commandOf, LISTING, verb } from "./verbs.ts";

type Automation = Reply<"GET /api/v1/automations/{automation_id}">;

const COLUMNS: readonly Column<Automation>[] = [
  { title: "ID", of: ({ id }) => id, isWhole: true, extra: 1 },
  { title: "SLUG", of: ({ slug }) => slug },
  { title: "TRIGGER", of: ({ triggerType }) => triggerType },
  { title: "STATUS", of: ({ status }) => status },
  { title: "LATEST RUN", of: ({ latestRun }) => latestRun?.status },
  { title: "NEXT RUN", of: ({ nextRunAt }) => instantText(nextRunAt), extra: 2 },
  { title: "NAME", of: ({ name }) => name, isName: true },
];

/** `weir automations list|run|enable|disable` */
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
      const isJson = flags.json === true;
      if (!flags.wait && !flags.follow) {
        if (isJson) return printJson(host, started.text);
        const path = `/api/v1/automation-runs/${started.body.id}`;
        return host.out(`Automation run ${started.body.id} started. To see it: weir api GET ${path}`);
      }
      const ended = await awaitAutomationRun({ api, host }, started.body.id);
      if (isJson) printJson(host, ended.text);
      else printTable(host, ended.body.steps, STEP_COLUMNS);
      reportEnd(host, "automation run", ended.body, isJson);
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
});

const STEP_COLUMNS: readonly Column<AutomationRun["steps"][number]>[] = [
  { title: "STEP", of: ({ key }) => key },
  { title: "STATUS", of: ({ status }) => status },
];

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
