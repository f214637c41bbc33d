import { AppError } from "../base/errors.ts";
import { carryOutPlan, nameOf, type Secrets } from "./apply/carry.ts";
import { makePlan, type Plan, type PlanStep } from "./apply/plan.ts";
import { readFiles } from "./apply/read.ts";
import { readState } from "./apply/state.ts";
import { plain } from "./client.ts";
import { shortText } from "./differences.ts";
import type { Host } from "./host.ts";
import { needed } from "./input.ts";
import { usage } from "./usage.ts";
import { apiOf, singleCommand, verb } from "./verbs.ts";

const MAX_FAULTS = 50;

/** `weir apply -f FILE`: brings an organization to what files say. */
export const apply = singleCommand(
  usage.apply,
  verb({
    options: {
      file: { type: "string", short: "f" },
      "dry-run": { type: "boolean" },
      prune: { type: "boolean" },
    },
    async run(input) {
      const { flags, host } = input;
      const files = await readFiles(
        host,
        needed("-f", flags.file, "a file, a directory, or - for standard input"),
      );
      const api = apiOf(input);
      const state = await readState(api);
      const plan = makePlan(files, state, flags.prune === true);
      refuseFaults(plan);
      const isDry = flags["dry-run"] === true;
      if (!flags.json) show(host, plan, isDry);
      const secrets = isDry ? {} : await carryOutPlan(api, state, plan, host.status);
      if (flags.json) host.out(JSON.stringify(toldPlan(plan, !isDry, secrets)));
      else if (!isDry) showEnd(host, plan, secrets);
    },
  }),
);

/** Throws `invalid` with every fault on a line of its own. */
function refuseFaults({ faults }: Plan): void {
  if (faults.length === 0) return;
  const shown = faults.slice(0, MAX_FAULTS).map((fault) => plain(fault));
  const rest = faults.length > MAX_FAULTS ? [`…and ${faults.length - MAX_FAULTS} more.`] : [];
  throw new AppError("invalid", [...shown, ...rest, "Nothing was changed."].join("\n"));
}

const SIGNS = { create: "+", change: "~", send: "?", delete: "-" } as const;

function show(host: Host, { steps, notes, unchanged }: Plan, isDry: boolean): void {
  for (const step of steps) {
    host.out(plain(`${SIGNS[step.operation]} ${nameOf(step)}`));
    for (const { field, from, to } of step.changes)
      host.out(
        plain(
          step.operation === "send"
            ? `    ${field}: set again`
            : `    ${field}: ${shortText(from)} → ${shortText(to)}`,
        ),
      );
  }
  for (const note of notes) host.err(plain(note));
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
  host.out(`${isDry ? "Dry run: " : ""}${parts.join(", ")}.`);
}

function showEnd(host: Host, { steps }: Plan, secrets: Secrets): void {
  for (const [slug, secret] of Object.entries(secrets))
    host.out(`Signing secret of ${slug} (not shown again): ${secret}`);
  host.out(steps.length === 0 ? "No changes." : "Configuration applied.");
}

const toldPlan = ({ steps, notes, unchanged }: Plan, applied: boolean, secrets: Secrets) => ({
  plan: steps.map(({ operation, wanted, there, changes }) => {
    const { noun, key } = wanted ?? there;
    return { kind: noun, slug: key, operation, changes };
  }),
  unchanged,
  applied,
  notes,
  secrets,
});
