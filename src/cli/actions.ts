import { parseNumberTexts } from "../base/json-numbers.ts";
import type { Reply } from "../calls.ts";
import { edit } from "./actions-edit.ts";
import { FOLLOWING, showStarted } from "./follow.ts";
import { actionId, connectionId, jsonInput, needed, numberInput, templateId, wideInput } from "./input.ts";
import { type Column, printFields, printJson, printTable, reportMore, timeColumn } from "./show.ts";
import { apiOf, commandOf, LISTING, verb } from "./verbs.ts";

type Action = Reply<"GET /api/v1/actions/{action_id}">;

const COLUMNS: readonly Column<Action>[] = [
  { title: "ID", of: ({ id }) => id, isWhole: true, extra: 1 },
  { title: "SLUG", of: ({ slug }) => slug, isName: true },
  { title: "KIND", of: ({ kind }) => kind },
  { title: "STATUS", of: ({ status }) => status },
  { title: "LATEST RUN", of: ({ latestRun }) => latestRun?.status },
  timeColumn("STARTED", ({ latestRun }) => latestRun?.startedAt, 2),
  { title: "NAME", of: ({ name }) => name, isName: true },
];

/** `weir actions list|get|create|edit|run` */
export const actions = commandOf("actions", {
  list: verb({
    options: {
      q: { type: "string" },
      kind: { type: "string", multiple: true },
      status: { type: "string", multiple: true },
      ...LISTING,
    },
    async run({ flags, host }) {
      const isWide = wideInput(flags.output);
      const query = {
        q: flags.q,
        kinds: flags.kind,
        statuses: flags.status,
        limit: numberInput("--limit", flags.limit),
        offset: numberInput("--offset", flags.offset),
      };
      const { body, text } = await apiOf({ flags, host }).call("GET /api/v1/actions", { query });
      if (flags.json) return printJson(host, text);
      printTable(host, body.actions, COLUMNS, { isWide });
      reportMore(host, body, body.actions.length);
    },
  }),
  get: verb({
    words: "ACTION",
    async run({ flags, words, host }) {
      const api = apiOf({ flags, host });
      const id = await actionId(api, words[0] ?? "");
      const { body, text } = await api.call("GET /api/v1/actions/{action_id}", { path: { action_id: id } });
      if (flags.json) return printJson(host, text);
      printFields(host, body);
    },
  }),
  create: verb({
    options: {
      kind: { type: "string" },
      name: { type: "string" },
      slug: { type: "string" },
      connection: { type: "string" },
      template: { type: "string" },
      definition: { type: "string" },
    },
    async run({ flags, host }) {
      const kind = needed("--kind", flags.kind, "kind of the action, such as http_request");
      const name = needed("--name", flags.name, "name of the action");
      const definition = await jsonInput(host, "--definition", flags.definition, parseNumberTexts);
      const api = apiOf({ flags, host });
      const { body, text } = await api.call("POST /api/v1/actions", {
        body: {
          kind,
          name,
          slug: flags.slug,
          connectionId:
            flags.connection === undefined ? undefined : await connectionId(api, flags.connection),
          templateId: flags.template === undefined ? undefined : await templateId(api, flags.template),
          definition,
        },
      });
      if (flags.json) return printJson(host, text);
      printTable(host, [body], COLUMNS);
    },
  }),
  edit,
  run: verb({
    words: "ACTION",
    options: { overrides: { type: "string" }, ...FOLLOWING },
    async run({ flags, words, host }) {
      const overrides = await jsonInput(host, "--overrides", flags.overrides, parseNumberTexts);
      const api = apiOf({ flags, host });
      const id = await actionId(api, words[0] ?? "");
      const started = await api.call("POST /api/v1/actions/{action_id}/run", {
        path: { action_id: id },
        body: overrides === undefined ? {} : { definitionOverrides: overrides },
      });
      await showStarted({ api, host }, started, flags);
    },
  }),
});
