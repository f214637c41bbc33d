import type { CallInput, Dashboard } from "../../calls.ts";
import { bottomOf } from "./layout.ts";
import type { Panel } from "./values.ts";

export type DraftFilter = Dashboard["filters"][number];
export type DraftPanel = Panel;

/** A dashboard that is being edited. */
export interface Draft {
  name: string;
  description: string;
  refreshSeconds: number | null;
  filters: readonly DraftFilter[];
  panels: readonly DraftPanel[];
}

export const EMPTY: Draft = { name: "", description: "", refreshSeconds: null, filters: [], panels: [] };

export const draftOf = ({ name, description, refreshSeconds, filters, panels }: Dashboard): Draft => ({
  name,
  description: description ?? "",
  refreshSeconds,
  filters,
  panels,
});

/** Body that saves a draft. Drops click filters that were removed. */
export const bodyOf = (draft: Draft) =>
  ({
    ...draft,
    panels: draft.panels.map((panel) => ({
      ...panel,
      clickFilters: Object.fromEntries(
        Object.entries(panel.clickFilters).filter(
          ([, key]) => key === null || draft.filters.some((filter) => filter.key === key),
        ),
      ),
    })),
    description: draft.description.trim() === "" ? null : draft.description,
  }) as unknown as CallInput<"POST /api/v1/dashboards">["body"];

const WIDTH = 6;
const HEIGHT = 5;

/** A name such as `panel_3` that no other has. */
export function freeKey(stem: string, taken: readonly { key: string }[]): string {
  let number = taken.length + 1;
  while (taken.some(({ key }) => key === `${stem}_${number}`)) number++;
  return `${stem}_${number}`;
}

/** A new panel below all others. */
export const newPanel = (panels: readonly DraftPanel[]): DraftPanel => ({
  key: freeKey("panel", panels),
  title: "",
  sql: "",
  queryId: null,
  parameters: {},
  chart: null,
  clickFilters: {},
  x: 0,
  y: bottomOf(panels),
  width: WIDTH,
  height: HEIGHT,
});

/** Default values of filters, by their names in SQL. */
export function defaultsOf(filters: readonly DraftFilter[]): Record<string, unknown> {
  return Object.fromEntries(
    filters.flatMap(({ key, type, default: value }): [string, unknown][] => {
      if (type !== "date_range") return [[key, value ?? null]];
      const { from = null, to = null } = (value ?? {}) as { from?: unknown; to?: unknown };
      return [
        [`${key}_from`, from],
        [`${key}_to`, to],
      ];
    }),
  );
}
