import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import { plain } from "../client.ts";
import { shortText } from "../differences.ts";
import type { Host } from "../host.ts";
import { labelOf, nameOf } from "./carry.ts";
import type { Plan, PlanStep } from "./plan.ts";

const MAX_FAULTS = 50;

/** Throws `invalid` with each fault on its own line. */
export function refuseFaults({ faults }: Plan): void {
  if (faults.length === 0) return;
  const shown = faults.slice(0, MAX_FAULTS).map((fault) => plain(fault));
  const rest = faults.length > MAX_FAULTS ? [`…and ${faults.length - MAX_FAULTS} more.`] : [];
  throw new AppError("invalid", [...shown, ...rest, "Nothing was changed."].join("\n"));
}

const SIGNS = { create: "+", change: "~", send: "?", delete: "-" } as const;
/** ANSI codes for green, yellow, cyan and red. */
const COLORS = { create: 32, change: 33, send: 36, delete: 31 } as const;

/** Prints what a plan does, field by field, with colors if the terminal supports them. */
export function showPlan(host: Host, { steps, notes, unchanged }: Plan, head = ""): void {
  const colored = (operation: PlanStep["operation"], text: string) =>
    host.hasColor ? `\x1b[${COLORS[operation]}m${text}\x1b[39m` : text;
  for (const step of steps) {
    const { operation } = step;
    host.out(colored(operation, inLine(`${SIGNS[operation]} ${nameOf(step)}`)));
    for (const change of step.changes) host.out(`    ${changeText(host, operation, change)}`);
  }
  for (const note of notes) host.err(inLine(note));
  const count = (operation: PlanStep["operation"]) =>
    steps.filter((step) => step.operation === operation).length;
  const sent = count("send");
  const parts = [
    `${count("create")} to create`,
    `${count("change")} to update`,
    `${count("delete")} to delete`,
    ...(sent > 0 ? [`${sent} with secrets to set again`] : []),
    `${unchanged} unchanged`,
  ];
  host.out(`${head}${parts.join(", ")}.`);
}

/** Names from the server can't add lines, which would look like steps of the plan. */
const inLine = (text: string) => plain(text).replaceAll("\n", " ");

function changeText(
  host: Host,
  operation: PlanStep["operation"],
  { field, from, to }: { field: string; from: Json; to: Json },
): string {
  if (operation === "send") return inLine(`${field}: set again`);
  const side = (value: Json, color: number) => {
    const text = plain(shortText(value));
    return host.hasColor ? `\x1b[${color}m${text}\x1b[39m` : text;
  };
  return `${inLine(field)}: ${side(from, COLORS.delete)} → ${side(to, COLORS.create)}`;
}

/** A plan as `--json` prints it. */
export const planReport = ({ steps, notes, unchanged }: Plan) => ({
  plan: steps.map((step) => {
    return {
      kind: (step.wanted ?? step.there).noun,
      slug: labelOf(step),
      operation: step.operation,
      changes: step.changes,
    };
  }),
  unchanged,
  notes,
});
