import { AppError } from "../base/errors.ts";
import { plural } from "../base/plural.ts";
import { carryOutPlan, nameOf, type Secrets } from "./apply/carry.ts";
import { checkPlan } from "./apply/check.ts";
import { makePlan, type Plan } from "./apply/plan.ts";
import { readFiles } from "./apply/read.ts";
import { planReport, refuseFaults, showPlan } from "./apply/show.ts";
import { readState } from "./apply/state.ts";
import { plain } from "./client.ts";
import { type Host, UsageError } from "./host.ts";
import { usage } from "./usage.ts";
import { apiOf, singleCommand, verb } from "./verbs.ts";

/** Paths from `-f`. Throws `UsageError` if it is omitted. */
export function filesInput(paths: readonly string[] = []): readonly string[] {
  if (paths.length === 0 || paths.includes(""))
    throw new UsageError("Missing flag: -f, a file, a directory, or - for standard input.");
  return paths;
}

/** `weir apply -f FILE`: updates an organization to match files. */
export const apply = singleCommand(
  usage.apply,
  verb({
    options: {
      file: { type: "string", short: "f", multiple: true },
      "dry-run": { type: "boolean" },
      prune: { type: "boolean" },
      yes: { type: "boolean", short: "y" },
    },
    async run(input) {
      const { flags, host } = input;
      const files = await readFiles(host, filesInput(flags.file));
      const api = apiOf(input);
      const state = await readState(api);
      const plan = makePlan(files, state, flags.prune === true);
      await checkPlan(api, plan);
      refuseFaults(plan);
      const isDry = flags["dry-run"] === true;
      if (!flags.json) showPlan(host, plan, isDry ? "Dry run: " : "");
      if (!isDry && !flags.yes) await confirm(host, plan, flags.json === true);
      const done = isDry
        ? { plan, secrets: {}, warnings: [] }
        : await carryOutPlan(api, state, plan, host.status);
      const { secrets, warnings } = done;
      for (const warning of warnings) host.err(plain(`Warning: ${warning}`));
      if (flags.json)
        host.out(JSON.stringify({ ...planReport(done.plan), applied: !isDry, secrets, warnings }));
      else if (!isDry) showEnd(host, done.plan, secrets);
    },
  }),
);

/**
 * Asks for confirmation on a terminal, with `--json` only before deletions.
 * Without a terminal, throws `UsageError` if there is anything to do.
 */
async function confirm({ ask }: Host, { steps }: Plan, isJson: boolean): Promise<void> {
  if (ask === null && steps.length > 0)
    throw new UsageError(
      "Missing flag: --yes. Without a terminal to ask on, it is required to make the changes. Nothing was changed.",
    );
  const asksFor = isJson ? steps.filter(({ operation }) => operation === "delete") : steps;
  if (ask === null || asksFor.length === 0) return;
  const gone = steps.filter(({ operation }) => operation === "delete").map(nameOf);
  const loss = gone.length === 0 ? "" : ` ${plain(gone.join(", "))} will be deleted, which can't be undone.`;
  const changes = plural(steps.length, { one: "change", other: "changes" });
  const answer = await ask(`Apply ${changes}?${loss} [y/N] `, false);
  if (!/^y(es)?$/i.test(answer.trim())) throw new AppError("cancelled", "Cancelled. Nothing was changed.");
}

function showEnd(host: Host, { steps }: Plan, secrets: Secrets): void {
  for (const [slug, secret] of Object.entries(secrets))
    host.out(`Signing secret of ${slug} (not shown again): ${secret}`);
  host.out(steps.length === 0 ? "No changes." : "Configuration applied.");
}
