import type { Reply } from "../calls.ts";
import { type AutomationRun, awaitAutomationRun, FOLLOWING, reportEnd } from "./follow.ts";
import { automationId } from "./input.ts";
import { runList } from "./run-list.ts";
import { type Column, errorText, printFields, printJson, printTable, timeColumn } from "./show.ts";
import { type Api, apiOf, type CommandInput, type TextReply, verb } from "./verbs.ts";

type ListedRun = Reply<"GET /api/v1/automation-runs">["runs"][number];
type Step = AutomationRun["steps"][number];

const COLUMNS: readonly Column<ListedRun>[] = [
  { title: "ID", of: ({ id }) => id, isWhole: true },
  { title: "STATUS", of: ({ displayStatus }) => displayStatus },
  timeColumn("CREATED", ({ createdAt }) => createdAt, 2),
  { title: "TRIGGER", of: ({ triggerMethod }) => triggerMethod, extra: 1 },
  { title: "AUTOMATION", of: ({ automationName }) => automationName, isName: true },
];

const STEP_COLUMNS: readonly Column<Step>[] = [
  { title: "STEP", of: ({ key }) => key, isName: true },
  { title: "STATUS", of: ({ status }) => status },
];

/** Prints an automation run, with its steps below its own fields. */
async function get({ flags, words, host }: CommandInput): Promise<void> {
  const { body, text } = await apiOf({ flags, host }).call("GET /api/v1/automation-runs/{run_id}", at(words));
  if (flags.json) return printJson(host, text);
  const { steps, error, ...fields } = body;
  printFields(host, { ...fields, error: error === null ? null : errorText(error) });
  host.out("");
  printTable(host, steps, STEP_COLUMNS);
}

/** `weir automations runs list|get|cancel|retry` */
export const automationRuns = {
  "runs list": runList({
    options: { automation: { type: "string" } },
    columns: COLUMNS,
    ask: async (api, filters, { automation }) =>
      api.call("GET /api/v1/automation-runs", {
        query: {
          ...filters,
          automation_id: automation === undefined ? undefined : await automationId(api, automation),
        },
      }),
  }),
  "runs get": verb({ words: "RUN", run: get }),
  "runs cancel": verb({
    words: "RUN",
    async run({ flags, words, host }) {
      const { body, text } = await apiOf({ flags, host }).call(
        "POST /api/v1/automation-runs/{run_id}/cancel",
        at(words),
      );
      if (flags.json) return printJson(host, text);
      host.out(`Automation run ${body.id} is ${body.status}.`);
    },
  }),
  "runs retry": verb({
    words: "RUN",
    options: { ...FOLLOWING, "from-start": { type: "boolean" } },
    async run({ flags, words, host }) {
      const api = apiOf({ flags, host });
      const started = await api.call("POST /api/v1/automation-runs/{run_id}/retry", {
        ...at(words),
        body: { fromFailed: flags["from-start"] !== true },
      });
      await showAutomationRun({ api, host }, started, flags);
    },
  }),
};

/** Prints a run that was started. With `--wait` or `--follow`, waits for its end. */
export async function showAutomationRun(
  { api, host }: { api: Api } & Pick<CommandInput, "host">,
  { body, text }: TextReply<AutomationRun>,
  flags: { json?: boolean; wait?: boolean; follow?: boolean },
): Promise<void> {
  const isJson = flags.json === true;
  if (!flags.wait && !flags.follow) {
    if (isJson) return printJson(host, text);
    return host.out(`Automation run ${body.id} started. To see it: weir automations runs get ${body.id}`);
  }
  const ended = await awaitAutomationRun({ api, host }, body.id);
  if (isJson) printJson(host, ended.text);
  else printTable(host, ended.body.steps, STEP_COLUMNS);
  reportEnd(host, "automation run", ended.body, isJson);
}

const at = ([id = ""]: readonly string[]) => ({ path: { run_id: id } });
