import {
  Bot,
  CalendarClock,
  ChartColumn,
  ClipboardList,
  DatabaseZap,
  FileSearch,
  FolderSync,
  Globe,
  type LucideIcon,
  MessageSquare,
  Play,
  Radio,
  ScrollText,
  Search,
  Split,
  SquareArrowOutUpRight,
  Table2,
  UserCheck,
  Webhook,
  Zap,
} from "lucide-react";
import type { Action, ActionKindInfo, Automation } from "../../calls.ts";
import { dependencyOf } from "./config.ts";
import type { StepValue } from "./steps-config.ts";

interface KindStyle {
  readonly icon: LucideIcon;
  /** Classes of the tile behind the icon. */
  readonly tint: string;
}

const DATA = "bg-good-soft text-good";
const QUERY = "bg-wait-soft text-wait";
const WEB = "bg-busy-soft text-busy";
const PEOPLE = "bg-warn-soft text-warn";
const FLOW = "bg-idle-soft text-idle";
const AGENT = "bg-bad-soft text-bad";

const KINDS: Readonly<Record<ActionKindInfo["kind"], KindStyle>> = {
  dlt_extract: { icon: DatabaseZap, tint: DATA },
  file_sync: { icon: FolderSync, tint: DATA },
  duckdb_transform: { icon: Table2, tint: QUERY },
  generate_query: { icon: Table2, tint: QUERY },
  explain_schema: { icon: FileSearch, tint: QUERY },
  create_flashboard: { icon: ChartColumn, tint: QUERY },
  run_script: { icon: ScrollText, tint: FLOW },
  http_request: { icon: Globe, tint: WEB },
  web_search: { icon: Search, tint: WEB },
  fetch_page: { icon: FileSearch, tint: WEB },
  send_message: { icon: MessageSquare, tint: PEOPLE },
  approval_gate: { icon: UserCheck, tint: PEOPLE },
  conditional_branch: { icon: Split, tint: FLOW },
  call_automation: { icon: SquareArrowOutUpRight, tint: FLOW },
  call_agent: { icon: Bot, tint: AGENT },
  agent_search: { icon: Search, tint: AGENT },
  agent_fetch_page: { icon: FileSearch, tint: AGENT },
};
const OTHER: KindStyle = { icon: Zap, tint: FLOW };

export const kindStyle = (kind: string | undefined): KindStyle =>
  KINDS[kind as ActionKindInfo["kind"]] ?? OTHER;

const TRIGGERS: Readonly<Record<Automation["triggerType"], LucideIcon>> = {
  manual: Play,
  webhook: Webhook,
  form: ClipboardList,
  schedule: CalendarClock,
  event: Radio,
};
export const triggerIcon = (type: Automation["triggerType"]): LucideIcon => TRIGGERS[type] ?? Zap;

/** Actions by their ids, as far as they are known. */
export type Actions = ReadonlyMap<string, Pick<Action, "name" | "slug" | "kind" | "definition">>;

export const kindOf = ({ kind, actionId }: StepValue, actions: Actions): string | undefined =>
  kind ?? actions.get(actionId ?? "")?.kind;

/** The branches of a step that decides between some, in their order. */
export function branchesOf(step: StepValue, actions: Actions): string[] {
  if (kindOf(step, actions) !== "conditional_branch") return [];
  const { branches, else: otherwise } = (step.definition ??
    actions.get(step.actionId ?? "")?.definition ??
    {}) as { branches?: { key?: unknown }[]; else?: unknown };
  const keys = Array.isArray(branches) ? branches.map((branch) => branch?.key) : [];
  return [...keys, otherwise].filter((key): key is string => typeof key === "string" && key !== "");
}

/** Branches with those that edges leave from and the step no longer has. */
export function drawnBranches(own: readonly string[], step: string, steps: readonly StepValue[]): string[] {
  const used = steps.flatMap(({ dependsOn }) =>
    (dependsOn ?? [])
      .map(dependencyOf)
      .flatMap(({ key, branch }) => (key === step && branch ? [branch] : [])),
  );
  return [...new Set([...own, ...used])];
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** Line that distinguishes two steps of a kind. */
export function summaryOf(step: StepValue, actions: Actions, titleOf: (kind: string) => string): string {
  const action = actions.get(step.actionId ?? "");
  if (action) return action.name;
  const definition = step.definition ?? {};
  const url = text(definition.url);
  if (url) return `${text(definition.method) ?? "GET"} ${url.replace(/^https?:\/\//, "")}`;
  const { layer, dataset } = (definition.output ?? {}) as { layer?: unknown; dataset?: unknown };
  if (text(dataset)) return `→ ${text(layer) ?? "marts"}.${dataset}`;
  const { resources, tables } = definition;
  const list = Array.isArray(resources) ? resources : Array.isArray(tables) ? tables : [];
  const names = list.flatMap((each: unknown) => text(each) ?? text((each as { name?: unknown })?.name) ?? []);
  if (names.length > 0) return names.join(", ");
  const own = ["title", "agent", "automation", "dataset", "query", "prompt"].flatMap(
    (name) => text(definition[name]) ?? [],
  );
  return own[0] ?? titleOf(step.kind ?? "");
}

/** Where an edge from a step begins, as `dependsOn` has it: its first branch, then the next ones, then the step whatever it takes. */
export function nextWayOut(
  steps: readonly StepValue[],
  actions: Actions,
  key: string,
  now: string | null,
): string {
  const step = steps.find((each) => each.key === key);
  const ways = [...(step ? branchesOf(step, actions) : []).map((branch) => `${key}:${branch}`), key];
  return ways[(ways.indexOf(now ?? "") + 1) % ways.length] ?? key;
}
