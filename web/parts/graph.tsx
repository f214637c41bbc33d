import type { Automation, AutomationRun } from "../calls.ts";
import { useApi } from "../data.ts";
import { INK, lookOf, type Tone } from "./status.tsx";

interface Step {
  key: string;
  name?: string;
  kind?: string;
  actionId?: string;
  dependsOn?: string[];
  when?: string;
  forEach?: string;
}

/** The work of an automation as steps, whichever way it is written. */
export function stepsOf(config: Automation["config"]): Step[] {
  const { steps, action } = config as { steps?: Step[]; action?: Omit<Step, "key"> };
  return steps ?? (action ? [{ key: "action", ...action }] : []);
}

const WIDTH = 162;
const HEIGHT = 52;
const GAP_X = 56;
const GAP_Y = 20;
const EDGE = 14;

interface Placed extends Step {
  x: number;
  y: number;
}

const dependencyOf = (text: string) => {
  const colon = text.indexOf(":");
  return colon < 0
    ? { key: text, branch: null }
    : { key: text.slice(0, colon), branch: text.slice(colon + 1) };
};

/** Each step in the column after the last one that it hangs on; rows in the order of their parents. */
function place(steps: readonly Step[]): { placed: Placed[]; width: number; height: number } {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  const columns = new Map<string, number>();
  const columnOf = (key: string, above: readonly string[] = []): number => {
    const known = columns.get(key);
    if (known !== undefined) return known;
    const parents = (byKey.get(key)?.dependsOn ?? [])
      .map((text) => dependencyOf(text).key)
      .filter((parent) => byKey.has(parent) && !above.includes(parent));
    const column = Math.max(-1, ...parents.map((parent) => columnOf(parent, [...above, key]))) + 1;
    columns.set(key, column);
    return column;
  };
  for (const step of steps) columnOf(step.key);
  const rows = new Map<string, number>();
  const filled: number[] = [];
  const ordered = [...steps].sort((a, b) => (columns.get(a.key) ?? 0) - (columns.get(b.key) ?? 0));
  for (const step of ordered) {
    const column = columns.get(step.key) ?? 0;
    const wanted = (step.dependsOn ?? []).map((text) => rows.get(dependencyOf(text).key) ?? 0);
    const row = Math.max(filled[column] ?? 0, wanted.length > 0 ? Math.min(...wanted) : 0);
    rows.set(step.key, row);
    filled[column] = row + 1;
  }
  const placed = steps.map((step) => ({
    ...step,
    x: EDGE + (columns.get(step.key) ?? 0) * (WIDTH + GAP_X),
    y: EDGE + (rows.get(step.key) ?? 0) * (HEIGHT + GAP_Y),
  }));
  return {
    placed,
    width: Math.max(0, ...placed.map(({ x }) => x)) + WIDTH + EDGE,
    height: Math.max(0, ...placed.map(({ y }) => y)) + HEIGHT + EDGE,
  };
}

const STROKE: Readonly<Record<Tone, string>> = {
  good: "var(--good)",
  bad: "var(--bad)",
  warn: "var(--warn)",
  busy: "var(--busy)",
  wait: "var(--wait)",
  idle: "var(--strong-line)",
};

/** How far a step over a list has got. */
const progressOf = (items: AutomationRun["steps"][number]["items"]) =>
  items ? `${items.completed + items.failed} of ${items.total}` : "for each";

interface Props {
  steps: readonly Step[];
  /** How far a run has got with them. */
  run?: AutomationRun | null;
  /** The step that is looked at. */
  chosen?: string | null;
  onChoose?: (key: string) => void;
  /** Keys of steps with something wrong. */
  bad?: readonly string[];
}

/** The steps and what hangs on what, from left to right. */
export function Graph({ steps, run = null, chosen = null, onChoose, bad = [] }: Props) {
  const { placed, width, height } = place(steps);
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  const titleOf = ({ kind = "Action" }: Step) =>
    kinds.data?.kinds.find((each) => each.kind === kind)?.title ?? kind;
  const at = new Map(placed.map((step) => [step.key, step]));
  const stateOf = (key: string) => run?.steps.find((step) => step.key === key) ?? null;
  return (
    <div className="overflow-x-auto bg-ground">
      <div className="relative" style={{ width, height }}>
        <svg width={width} height={height} aria-hidden="true" className="absolute inset-0">
          <defs>
            <marker
              id="arrow"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto"
            >
              <path d="M0 0.500 8 4 0 7.500z" fill="var(--strong-line)" />
            </marker>
          </defs>
          {placed.flatMap((step) =>
            (step.dependsOn ?? []).map((text) => {
              const { key, branch } = dependencyOf(text);
              const parent = at.get(key);
              if (!parent) return null;
              const [x1, y1] = [parent.x + WIDTH, parent.y + HEIGHT / 2];
              const [x2, y2] = [step.x - 2, step.y + HEIGHT / 2];
              const middle = (x1 + x2) / 2;
              const isDone = stateOf(key)?.status === "completed" && stateOf(step.key)?.status !== "skipped";
              return (
                <g key={`${text}-${step.key}`}>
                  <path
                    d={`M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`}
                    fill="none"
                    stroke={isDone ? "var(--good)" : "var(--strong-line)"}
                    strokeWidth="1.5"
                    markerEnd="url(#arrow)"
                  />
                  {branch && (
                    <text
                      x={x2 - 10}
                      y={y2 - 6}
                      textAnchor="end"
                      fontSize="11"
                      fill="var(--soft)"
                      stroke="var(--ground)"
                      strokeWidth="4"
                      paintOrder="stroke"
                    >
                      {branch}
                    </text>
                  )}
                </g>
              );
            }),
          )}
        </svg>
        <ul>
          {placed.map((step) => {
            const state = stateOf(step.key);
            const look = state ? lookOf(state.status) : null;
            const Icon = look?.icon;
            return (
              <li
                key={step.key}
                className="absolute"
                style={{ left: step.x, top: step.y, width: WIDTH, height: HEIGHT }}
              >
                <button
                  type="button"
                  aria-pressed={chosen === step.key}
                  onClick={() => onChoose?.(step.key)}
                  className={`flex size-full items-center gap-2 rounded-lg border bg-raised px-2.5 text-left hover:border-accent ${chosen === step.key ? "ring-2 ring-accent" : ""}`}
                  style={{ borderColor: STROKE[bad.includes(step.key) ? "bad" : (look?.tone ?? "idle")] }}
                >
                  {Icon && look && (
                    <Icon
                      size={16}
                      role="img"
                      aria-label={look.label}
                      className={`shrink-0 ${INK[look.tone]} ${state?.status === "running" ? "spin" : ""}`}
                    />
                  )}
                  <span className="min-w-0 grow">
                    <span className="block truncate text-sm font-medium" title={step.name ?? step.key}>
                      {step.name ?? step.key}
                    </span>
                    <span className="block truncate text-xs text-soft">
                      {titleOf(step)}
                      {step.when ? " · when" : ""}
                      {step.forEach ? ` · ${progressOf(state?.items)}` : ""}
                    </span>
                  </span>
                </button>
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}
