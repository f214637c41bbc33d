import { useEffect, useState } from "react";
import type { StoredChart } from "../../../src/base/chart-spec.ts";
import type { SavedQuery } from "../../calls.ts";
import { keepDraft, readDraft } from "../../drafts.ts";
import { t } from "../../texts/text.ts";
import { type Parameter, textOf } from "./parameters.ts";
import type { Question } from "./question.ts";

export interface Tab {
  id: string;
  sql: string;
  parameters: Readonly<Record<string, Parameter>>;
  /** Chart of the result. Null for an automatic one. */
  chart: StoredChart | null;
  view: "table" | "chart";
  /** The saved query of the tab, as it was read. */
  saved: { id: string; name: string; etag: string | null; text: string } | null;
  /** State of the open query builder. Null if it is closed. */
  question: Question | null;
}

const KEPT = "sql";
const START = t("-- Tables are named layer.dataset__table. Ctrl+Enter runs the query.\nSELECT 1 AS one");

const emptyTab = (sql = START): Tab => ({
  id: `${Date.now()}-${Math.random()}`,
  sql,
  parameters: {},
  chart: null,
  view: "table",
  saved: null,
  question: null,
});

/** What saving would store. A different text means unsaved changes. */
export const textOfTab = ({ sql, parameters, chart }: Pick<Tab, "sql" | "parameters" | "chart">): string =>
  JSON.stringify([sql, parameters, chart]);

/** Creates a tab for a saved query. */
export function tabOf(query: SavedQuery, etag: string | null, values: Record<string, unknown> = {}): Tab {
  const { id, name, sql, chart } = query;
  const parameters = Object.fromEntries(
    Object.entries(query.parameters).map(([key, { type, default: value }]) => [
      key,
      { type, text: textOf(values[key] ?? value) },
    ]),
  );
  const text = textOfTab({ sql, parameters, chart });
  const view = chart === null ? "table" : "chart";
  return { ...emptyTab(sql), parameters, chart, view, saved: { id, name, etag, text } };
}

interface Kept {
  tabs: readonly Tab[];
  current: string;
}

function readKept(): Kept {
  const text = readDraft(KEPT);
  if (text !== null) return JSON.parse(text) as Kept;
  const tab = emptyTab();
  return { tabs: [tab], current: tab.id };
}

/** The tabs of the workbench, stored for this window. */
export function useTabs() {
  const [kept, put] = useState(readKept);
  useEffect(() => void keepDraft(KEPT, JSON.stringify(kept)), [kept]);
  const open = (tab: Tab) => put(({ tabs }) => ({ tabs: [...tabs, tab], current: tab.id }));
  return {
    tabs: kept.tabs,
    tab: kept.tabs.find(({ id }) => id === kept.current) ?? (kept.tabs[0] as Tab),
    open,
    fresh: emptyTab,
    openNew: (sql?: string) => open(emptyTab(sql)),
    select: (id: string) => put((before) => ({ ...before, current: id })),
    change: (id: string, change: Partial<Tab>) =>
      put((before) => ({
        ...before,
        tabs: before.tabs.map((tab) => (tab.id === id ? { ...tab, ...change } : tab)),
      })),
    close: (id: string) =>
      put(({ tabs, current }) => {
        const at = tabs.findIndex((tab) => tab.id === id);
        const left = tabs.filter((tab) => tab.id !== id);
        const rest = left.length > 0 ? left : [emptyTab()];
        const next = current === id ? (rest[Math.min(at, rest.length - 1)]?.id ?? "") : current;
        return { tabs: rest, current: next };
      }),
  };
}

export type Tabs = ReturnType<typeof useTabs>;

/** Title of a tab. */
export function titleOf({ saved, sql, question }: Tab): string {
  if (saved) return saved.name;
  if (question?.table) return question.table;
  const line = sql.split("\n").find((each) => each.trim() !== "" && !each.trim().startsWith("--"));
  return line?.trim() ?? t("New query");
}
