import { Handle, type Node, type NodeProps, Position, useUpdateNodeInternals } from "@xyflow/react";
import { type LucideIcon, Plus, TriangleAlert } from "lucide-react";
import { memo, useContext, useEffect, useReducer, useRef } from "react";
import { t } from "../../texts/text.ts";
import { Monogram } from "../base/monogram.tsx";
import { plural } from "../base/plural.ts";
import { INK, styleOf } from "../base/status.tsx";
import { inWords } from "../base/time.tsx";
import { BRANCHES_ACROSS, HEIGHT, WIDTH } from "./arrange.ts";
import { TRIGGER } from "./config.ts";
import type { Used } from "./connections.ts";
import { chipsOf, type StepChange, type StepState } from "./states.ts";
import type { StepValue } from "./steps-config.ts";
import { ActionsContext, useUi } from "./ui.ts";

interface StepData extends Record<string, unknown> {
  /** Null for the trigger. */
  step: StepValue | null;
  name: string;
  summary: string;
  icon: LucideIcon;
  tint: string;
  /** Its icon replaces the kind's. */
  used: Used | null;
  branches: readonly string[];
  /** Branches without edges. */
  unused: readonly string[];
  state: StepState | null;
  fault: string | null;
  /** Only in a comparison of versions. */
  change: StepChange | null;
  hasNext: boolean;
  mayChange: boolean;
  /** Text alternative for what is shown around the card. */
  label: string;
}
export type StepNodeType = Node<StepData, "step">;

/** Without a transition: hundreds at once would take longer than a frame. */
const DOT = "size-2.5! border-2! border-raised! bg-strong-line! opacity-0 group-hover/step:opacity-100";
const TARGET = `${DOT} [.connecting_&]:opacity-100`;
const FOOT = { top: HEIGHT, bottom: "auto", transform: "translate(-50%, -50%)" } as const;
const SIDE = { left: WIDTH, right: "auto", transform: "translate(-50%, -50%)" } as const;

const BORDERS: Readonly<Record<string, string>> = {
  running: "border-busy",
  waiting: "border-wait",
  completed: "border-good",
  failed: "border-bad",
  skipped: "border-strong-line border-dashed",
};
const CHANGES: Readonly<Record<StepChange, string>> = {
  added: "border-good border-2",
  changed: "border-warn border-2",
  removed: "border-bad border-dashed",
};

/** The library also passes the position, which changes with each frame of a drag. The card ignores it. */
export const StepNode = ({ id, data, selected, isConnectable, sourcePosition }: NodeProps<StepNodeType>) => (
  <Card
    id={id}
    data={data}
    selected={selected}
    isConnectable={isConnectable}
    isAcross={sourcePosition === Position.Right}
  />
);

type CardProps = Pick<NodeProps<StepNodeType>, "id" | "data" | "selected" | "isConnectable"> & {
  /** True if the next steps are to the right instead of below. */
  isAcross: boolean;
};

const Card = memo(function Card({ id, data, selected, isConnectable, isAcross }: CardProps) {
  const { step, branches, hasNext, mayChange, state } = data;
  const actions = useContext(ActionsContext);
  useBranchPorts(id, data);
  return (
    <div data-card="" className="group/step relative size-full">
      {id !== TRIGGER && (
        <Handle
          type="target"
          position={isAcross ? Position.Left : Position.Top}
          isConnectable={isConnectable}
          className={TARGET}
        />
      )}
      <div
        className={`absolute left-0 ${isAcross ? "top-1/2 -translate-y-1/2" : "top-0"}`}
        style={{ width: WIDTH, height: HEIGHT }}
      >
        {step?.forEach !== undefined && <Stack />}
        <Face id={id} data={data} selected={selected} />
        {step && <Chips step={step} />}
      </div>
      {branches.length > 0 && (
        <Branches id={id} data={data} isConnectable={isConnectable} isAcross={isAcross} />
      )}
      <Handle
        type="source"
        position={isAcross ? Position.Right : Position.Bottom}
        isConnectable={isConnectable}
        className={DOT}
        style={isAcross ? SIDE : FOOT}
      />
      {mayChange && !hasNext && !state && branches.length === 0 && (
        <button
          type="button"
          tabIndex={-1}
          aria-label={t("Add a step after {name}", { name: data.name })}
          onClick={() => actions.add({ after: [id] })}
          className={`nodrag absolute grid size-6 place-items-center rounded-full border border-strong-line bg-raised text-soft hover:border-accent hover:text-accent ${isAcross ? "top-1/2 -translate-y-1/2" : "left-1/2 -translate-x-1/2"}`}
          style={isAcross ? { left: WIDTH + 12 } : { top: HEIGHT + 12 }}
        >
          <Plus size={14} aria-hidden />
        </button>
      )}
    </div>
  );
});

/** The library looks up ports only for new cards, so it must be notified when branches are added or moved. */
function useBranchPorts(id: string, { branches, unused }: StepData) {
  const look = useUpdateNodeInternals();
  const ports = [...branches, "", ...unused].join("\n");
  const known = useRef(ports);
  useEffect(() => {
    if (known.current !== ports) look(id);
    known.current = ports;
  }, [id, ports, look]);
}

/** Two more cards behind a step with `forEach`. */
const Stack = () => (
  <>
    <span
      className="absolute inset-x-2 top-2 rounded-[10px] border border-strong-line bg-raised"
      style={{ height: HEIGHT }}
    />
    <span
      className="absolute inset-x-1 top-1 rounded-[10px] border border-strong-line bg-raised"
      style={{ height: HEIGHT }}
    />
  </>
);

function Face({ id, data, selected }: Omit<CardProps, "isConnectable" | "isAcross">) {
  const { name, icon: Icon, tint, used, state, fault, change, label } = data;
  const actions = useContext(ActionsContext);
  const isTabStop = useUi(({ tabStop }) => tabStop === id);
  const isFrom = useUi(({ from }) => from?.split(":")[0] === id);
  const isDim = useUi(({ found }) => found !== null && !found.has(id));
  const isOff = state?.status === "skipped" || change === "removed";
  const style = state && !fault ? styleOf(state.status) : null;
  const border = fault
    ? "border-bad"
    : change
      ? CHANGES[change]
      : (BORDERS[state?.status ?? ""] ?? "border-strong-line");
  return (
    <button
      type="button"
      data-step={id}
      tabIndex={isTabStop ? 0 : -1}
      aria-pressed={selected}
      title={fault ?? state?.error ?? name}
      onClick={(event) => {
        if (!event.shiftKey && !event.ctrlKey && !event.metaKey) actions.choose(id);
      }}
      className={`absolute inset-x-0 top-0 flex items-center gap-2.5 overflow-hidden border bg-raised px-2.5 text-left shadow-[0_1px_2px_rgb(10_13_18/0.06)] hover:border-accent ${id === TRIGGER ? "rounded-[32px] pl-3.5" : "rounded-[10px]"} ${border} ${selected ? "ring-2 ring-accent" : ""} ${isFrom ? "outline-2 outline-offset-2 outline-accent outline-dashed" : ""} ${isDim ? "opacity-30" : ""}`}
      style={{ height: HEIGHT }}
    >
      <span
        title={used?.name}
        className={`grid size-9 shrink-0 place-items-center rounded-lg group-data-far/step:hidden ${tint} ${isOff ? "opacity-60" : ""}`}
      >
        {used ? <Monogram name={used.provider} of={used.provider} /> : <Icon size={18} aria-hidden />}
      </span>
      <span className="min-w-0 grow">
        <span
          dir="auto"
          className={`line-clamp-2 text-sm leading-[1.15rem] font-medium [overflow-wrap:anywhere] group-data-far/step:text-xl group-data-far/step:leading-6 ${isOff ? "text-soft" : ""} ${change === "removed" ? "line-through" : ""}`}
        >
          {name}
        </span>
        <span className="block truncate text-xs leading-4 text-soft group-data-far/step:hidden">
          <Line data={data} />
        </span>
        <span className="sr-only">{label}</span>
      </span>
      {fault && <TriangleAlert size={16} aria-hidden className="shrink-0 text-bad" />}
      {style && (
        <style.icon
          size={16}
          aria-hidden
          className={`shrink-0 ${INK[style.tone]} ${state?.status === "running" ? "spin" : ""}`}
        />
      )}
      {state?.share !== null && state?.share !== undefined && (
        <span className="absolute inset-x-0 bottom-0 h-[3px] bg-busy-soft">
          <span className="block h-full bg-busy" style={{ width: `${state.share * 100}%` }} />
        </span>
      )}
    </button>
  );
}

/** What distinguishes the step from others of its kind, or its state in a run. */
function Line({ data: { state, summary } }: Pick<CardProps, "data">) {
  if (!state || state.status === "pending") return summary;
  if (state.status === "skipped") return t("Skipped");
  const parts = [
    state.items,
    state.branch === null ? null : `→ ${state.branch}`,
    state.count === null ? null : plural(state.count, { one: "# row", other: "# rows" }),
  ].filter((part) => part !== null);
  return (
    <>
      {parts.join(" · ")}
      {state.startedAt && (
        <>
          {parts.length > 0 && " · "}
          <Duration from={state.startedAt} to={state.completedAt} />
        </>
      )}
      {parts.length === 0 && !state.startedAt && styleOf(state.status).label}
    </>
  );
}

const TICK_MS = 1000;

/** A duration, which updates while it isn't over. */
export function Duration({ from, to }: { from: string; to: string | null }) {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (to !== null) return;
    const timer = setInterval(tick, TICK_MS);
    return () => clearInterval(timer);
  }, [to]);
  const end = to === null ? Date.now() : Date.parse(to);
  return <span className="tabular-nums">{inWords(Math.max(0, end - Date.parse(from)) / 1000)}</span>;
}

/** Names of branches up to this length are never cut. Longer ones next to them are. */
const SHORT = 8;

/** Branches of a step. An edge starts at its branch's label. */
function Branches({ id, data, isConnectable, isAcross }: Omit<CardProps, "selected">) {
  const { branches, unused, state, mayChange, name } = data;
  const actions = useContext(ActionsContext);
  return (
    <span
      className={`absolute flex justify-evenly ${isAcross ? "inset-y-0 flex-col items-start" : "inset-x-2 gap-1.5"}`}
      style={isAcross ? { left: WIDTH + 6, width: BRANCHES_ACROSS - 6 } : { top: HEIGHT + 6 }}
    >
      {branches.map((branch) => (
        <span
          key={branch}
          title={branch}
          className={`relative flex items-center rounded-full border bg-raised px-2 text-xs leading-[18px] ${branch.length > SHORT ? "min-w-0 max-w-full" : "shrink-0"} ${state?.branch === branch ? "border-good text-good" : "border-strong-line text-soft"}`}
        >
          <span className="block truncate" dir="auto">
            {branch}
          </span>
          {mayChange && unused.includes(branch) && !state && (
            <button
              type="button"
              tabIndex={-1}
              aria-label={t("Add a step after {name}, branch {branch}", { name, branch })}
              onClick={() => actions.add({ after: [`${id}:${branch}`] })}
              className="nodrag -mr-1.5 ml-0.5 grid size-5 place-items-center rounded-full hover:text-accent"
            >
              <Plus size={12} aria-hidden />
            </button>
          )}
          <Handle
            id={branch}
            type="source"
            position={isAcross ? Position.Right : Position.Bottom}
            isConnectable={isConnectable}
            className={DOT}
          />
        </span>
      ))}
    </span>
  );
}

/** Settings that change how a step runs, shown on its edge. */
function Chips({ step }: { step: StepValue }) {
  const chips = chipsOf(step);
  if (chips.length === 0) return null;
  return (
    <span
      className="pointer-events-none absolute left-2 flex gap-1 group-data-far/step:hidden"
      style={{ top: -11 }}
    >
      {chips.map(({ name, about, isPin }) => (
        <span
          key={name}
          title={about}
          className={`pointer-events-auto rounded-full border bg-raised px-1.5 text-[11px] leading-4 ${isPin ? "border-wait text-wait" : "border-strong-line text-soft"}`}
        >
          {name}
        </span>
      ))}
    </span>
  );
}
