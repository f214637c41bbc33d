import type { Reply } from "../calls.ts";
import { FOLLOWING, followRun, logText, showStarted } from "./follow.ts";
import { actionId } from "./input.ts";
import { runList } from "./run-list.ts";
import { type Column, printFields, printJson, secondsText, timeColumn } from "./show.ts";
import { apiOf, commandOf, type TextReply, verb } from "./verbs.ts";

type Logs = Reply<"GET /api/v1/action-runs/{run_id}/logs">;

type ListedRun = Reply<"GET /api/v1/action-runs">["runs"][number];

const COLUMNS: readonly Column<ListedRun>[] = [
  { title: "ID", of: ({ id }) => id, isWhole: true },
  { title: "KIND", of: ({ kind }) => kind, extra: 1 },
  { title: "STATUS", of: ({ displayStatus }) => displayStatus },
  timeColumn("CREATED", ({ createdAt }) => createdAt, 3),
  { title: "DURATION", of: ({ durationSeconds }) => secondsText(durationSeconds), extra: 4 },
  { title: "TRIGGER", of: ({ triggerMethod }) => triggerMethod, extra: 2 },
  { title: "AUTOMATION", of: ({ automationName }) => automationName, isName: true },
  { title: "ACTION", of: ({ actionName, stepKey }) => actionName ?? stepKey, isName: true },
];

const MOST_LINES = 1000;

/** `weir runs list|get|logs|cancel|retry` */
export const runs = commandOf("runs", {
  list: runList({
    options: {
      action: { type: "string" },
      kind: { type: "string", multiple: true },
      "automation-run": { type: "string" },
    },
    columns: COLUMNS,
    ask: async (api, filters, { action, kind, "automation-run": automationRun }) =>
      api.call("GET /api/v1/action-runs", {
        query: {
          ...filters,
          action_id: action === undefined ? undefined : await actionId(api, action),
          kinds: kind,
          automation_run_id: automationRun,
        },
      }),
  }),
  get: verb({
    words: "RUN",
    async run({ flags, words, host }) {
      const { body, text } = await apiOf({ flags, host }).call("GET /api/v1/action-runs/{run_id}", at(words));
      if (flags.json) return printJson(host, text);
      printFields(host, body);
    },
  }),
  logs: verb({
    words: "RUN",
    options: { follow: { type: "boolean" } },
    async run({ flags, words, host }) {
      const api = apiOf({ flags, host });
      if (flags.follow) {
        const isJson = flags.json === true;
        const { body: run } = await api.call("GET /api/v1/action-runs/{run_id}", at(words));
        await followRun({ api, host }, run.id, (line, text) =>
          isJson ? printJson(host, text) : host.out(logText(line)),
        );
        return;
      }
      for (let cursor: string | undefined; host.isRead(); ) {
        const { body, text }: TextReply<Logs> = await api.call("GET /api/v1/action-runs/{run_id}/logs", {
          ...at(words),
          query: { limit: MOST_LINES, cursor },
        });
        if (flags.json) printJson(host, text);
        else for (const line of body.items) host.out(logText(line));
        cursor = body.nextCursor;
        if (cursor === undefined) return;
      }
    },
  }),
  cancel: verb({
    words: "RUN",
    async run({ flags, words, host }) {
      const { body, text } = await apiOf({ flags, host }).call(
        "POST /api/v1/action-runs/{run_id}/cancel",
        at(words),
      );
      if (flags.json) return printJson(host, text);
      host.out(`Run ${body.id} is ${body.status}.`);
    },
  }),
  retry: verb({
    words: "RUN",
    options: FOLLOWING,
    async run({ flags, words, host }) {
      const api = apiOf({ flags, host });
      const started = await api.call("POST /api/v1/action-runs/{run_id}/retry", at(words));
      await showStarted({ api, host }, started, flags);
    },
  }),
});

const at = ([id = ""]: readonly string[]) => ({ path: { run_id: id } });
