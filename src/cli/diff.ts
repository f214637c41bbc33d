import { checkPlan } from "./apply/check.ts";
import { makePlan, type PlanStep } from "./apply/plan.ts";
import { readFiles } from "./apply/read.ts";
import { planReport, refuseFaults, showPlan } from "./apply/show.ts";
import { readState } from "./apply/state.ts";
import { filesInput } from "./apply.ts";
import type { Host } from "./host.ts";
import { usage } from "./usage.ts";
import { apiOf, singleCommand, verb } from "./verbs.ts";

const DIFFERS = 1;
const FAILED = 2;

/** `weir diff -f FILE`: what `weir apply` would change. Exit code 0 if nothing, 1 if something, 2 for an error. */
export async function diff(args: readonly string[], host: Host): Promise<number> {
  let differs = false;
  const command = singleCommand(
    usage.diff,
    verb({
      options: {
        file: { type: "string", short: "f", multiple: true },
        prune: { type: "boolean" },
      },
      async run(input) {
        const { flags } = input;
        const files = await readFiles(host, filesInput(flags.file));
        const api = apiOf(input);
        const plan = makePlan(files, await readState(api), flags.prune === true);
        await checkPlan(api, plan);
        refuseFaults(plan);
        differs = plan.steps.some(isSeen);
        if (flags.json) host.out(JSON.stringify({ differs, ...planReport(plan) }));
        else showPlan(host, plan);
      },
    }),
  );
  const code = await command(args, host);
  if (code === 1) return FAILED;
  return code === 0 && differs ? DIFFERS : code;
}

/** The server doesn't show secrets, so whether one that is sent again differs is unknown. It counts as equal. */
const isSeen = ({ operation }: PlanStep) => operation !== "send";
