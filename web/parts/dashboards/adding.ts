import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call, callTagged } from "../../api.ts";
import type { CallInput, Dashboard } from "../../calls.ts";
import { refresh } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { notify } from "../base/toast.tsx";
import { freeKey } from "./draft.ts";
import { bottomOf } from "./layout.ts";
import { namesOf, type Panel } from "./values.ts";

export type NewPanel = Pick<Panel, "title" | "sql" | "queryId" | "parameters" | "chart">;

interface Adding {
  /** Null for a new dashboard with this name. */
  id: string | null;
  name: string;
  panels: readonly NewPanel[];
}

const WIDTH = 6;
const HEIGHT = 5;
const IN_A_ROW = 2;

/** The existing panels with new ones below. Values that a filter sets aren't fixed in the panel. */
function placed(
  panels: readonly NewPanel[],
  { panels: present, filters }: Pick<Dashboard, "panels" | "filters">,
): Panel[] {
  const top = bottomOf(present);
  const names = filters.flatMap(namesOf);
  const all: Panel[] = [...present];
  for (const [at, panel] of panels.entries()) {
    const fixed = Object.entries(panel.parameters).filter(([name]) => !names.includes(name));
    all.push({
      ...panel,
      key: freeKey("panel", all),
      parameters: Object.fromEntries(fixed),
      clickFilters: {},
      x: (at % IN_A_ROW) * WIDTH,
      y: top + Math.floor(at / IN_A_ROW) * HEIGHT,
      width: WIDTH,
      height: HEIGHT,
    });
  }
  return all;
}

type Body = CallInput<"POST /api/v1/dashboards">["body"];

async function add({ id, name, panels }: Adding): Promise<Dashboard> {
  if (id === null) {
    const body = { name, panels: placed(panels, { panels: [], filters: [] }) } as unknown as Body;
    return call("POST /api/v1/dashboards", { body });
  }
  const path = { dashboard_id: id };
  const { reply, etag } = await callTagged("GET /api/v1/dashboards/{dashboard_id}", { path });
  const body = { panels: placed(panels, reply) } as unknown as Body;
  return call(
    "PATCH /api/v1/dashboards/{dashboard_id}",
    { path, body },
    { headers: etag === null ? {} : { "if-match": etag } },
  );
}

/** Adds panels to the current state of the dashboard. A concurrent change by someone else is reported and kept. */
export function useAdd(onDone: (dashboard: Dashboard) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: add,
    async onSuccess(dashboard) {
      await refresh(queries, "/dashboards");
      notify(t("Added to {name}", { name: dashboard.name }));
      onDone(dashboard);
    },
  });
}
