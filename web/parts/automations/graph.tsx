import type { AutomationRun } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { Sideways } from "../base/sideways.tsx";
import { INK, styleOf, type Tone } from "../base/status.tsx";
import { dependencyOf, HEIGHT, type Layout, layOut, type Step } from "./graph-layout.ts";

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
  items ? `${items.completed + items.failed} of ${items.total}` : "For each";

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
export function Graph(props: Props) {
  return <Sideways>{(room) => <Drawn {...props} layout={layOut(props.steps, room)} />}</Sideways>;
}

function Drawn({ layout, run = null, chosen = null, onChoose, bad = [] }: Props & { layout: Layout }) {
  const { steps: placed, stepWidth, width, height, zoom } = layout;
  const kinds = useApi("GET /api/v1/action-kinds", {}, { isFixed: true });
  const titleOf = ({ kind = "Action" }: Step) =>
    kinds.data?.kinds.find((each) => each.kind === kind)?.title ?? kind;
  const at = new Map(placed.map((step) => [step.key, step]));
  const stateOf = (key: string) => run?.steps.find((step) => step.key === key) ?? null;
  return (
    <div style={{ width: width * zoom, height: height * zoom }}>
      <div
        className="relative origin-top-left"
        style={{ width, height, ...(zoom < 1 ? { transform: `scale(${zoom})` } : {}) }}
      >
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
              const { key } = dependencyOf(text);
              const parent = at.get(key);
              if (!parent) return null;
              const [x1, y1] = [parent.x + stepWidth, parent.y + HEIGHT / 2];
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
                </g>
              );
            }),
          )}
        </svg>
        <ul>
          {placed.map((step) => {
            const state = stateOf(step.key);
            const style = state ? styleOf(state.status) : null;
            const Icon = style?.icon;
            const branches = (step.dependsOn ?? []).flatMap((text) => dependencyOf(text).branch ?? []);
            return (
              <li
                key={step.key}
                className="absolute"
                style={{ left: step.x, top: step.y, width: stepWidth, height: HEIGHT }}
              >
                {branches.length > 0 && (
                  <span className="pointer-events-none absolute inset-x-0.5 -top-4 truncate text-xs leading-4 text-soft">
                    {branches.join(", ")}
                  </span>
                )}
                <button
                  type="button"
                  aria-pressed={chosen === step.key}
                  onClick={() => onChoose?.(step.key)}
                  className={`flex size-full items-center gap-2 rounded-lg border bg-raised px-2.5 text-left hover:border-accent ${chosen === step.key ? "ring-2 ring-accent" : ""}`}
                  style={{ borderColor: STROKE[bad.includes(step.key) ? "bad" : (style?.tone ?? "idle")] }}
                >
                  {Icon && style && (
                    <Icon
                      size={16}
                      role="img"
                      aria-label={style.label}
                      className={`shrink-0 ${INK[style.tone]} ${state?.status === "running" ? "spin" : ""}`}
                    />
                  )}
                  <span className="min-w-0 grow">
                    <span className="block truncate text-sm font-medium" title={step.name ?? step.key}>
                      {step.name ?? step.key}
                    </span>
                    <span className="block truncate text-xs text-soft">
                      {titleOf(step)}
                      {step.when ? " · condition" : ""}
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
