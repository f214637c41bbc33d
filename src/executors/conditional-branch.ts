import { type Static, Type } from "@sinclair/typebox";
import { conditionFault, MAX_CONDITIONS_MS, openBudgetHere } from "../base/condition.ts";
import { AppError } from "../base/errors.ts";
import { ExpressionTooLong } from "../base/expression/too-long.ts";
import type { JsonObject } from "../base/json.ts";
import { described, object } from "../base/shape.ts";
import { yieldNow } from "../base/slices.ts";
import type { Scope } from "../base/template.ts";
import { decideConditions, firstThatHolds } from "./branch-choice.ts";
import { defineExecutor, type RunContext } from "./contract.ts";

const key = () => Type.String({ minLength: 1, maxLength: 100, pattern: "^[A-Za-z0-9_-]+$" });

const Definition = object({
  branches: Type.Array(
    object({
      key: described("Name of the branch. Steps depend on it as STEP:KEY", key()),
      when: Type.String({
        minLength: 1,
        maxLength: 4096,
        description: "Condition in CEL, such as payload.total > 100",
      }),
    }),
    {
      minItems: 1,
      maxItems: 100,
      description: "Evaluated in order; the first one whose condition is true is chosen",
    },
  ),
  else: described(
    "Key of the branch to choose if no condition is true. If omitted, the run then fails",
    Type.Optional(key()),
  ),
});

/**
 * Chooses the first branch whose condition is true, otherwise `else`. Without either, the run fails with `no_branch`.
 *
 * A second attempt is safe: nothing is written, and the conditions see the same scope.
 */
export const conditionalBranch = defineExecutor({
  kind: "conditional_branch",
  inBulk: () => true,
  isInside: true,
  title: "Branch",
  description: "Chooses the first branch whose condition is true. Steps can depend on a branch.",
  providers: [],
  hasEffects: () => false,
  conditionFields: ["branches.*.when"],
  definition: Definition,
  result: object({ branch: Type.String() }),

  check({ branches }) {
    return branches.flatMap(({ key, when }, index) => {
      const at = (field: string, message: string) => ({ path: ["branches", String(index), field], message });
      const twice = branches.findIndex((branch) => branch.key === key) < index;
      const fault = conditionFault(when);
      return [
        ...(twice ? [at("key", `Duplicate branch ${key}.`)] : []),
        ...(fault ? [at("when", fault)] : []),
      ];
    });
  },

  decide,
  decided,
  async execute(ctx, definition) {
    const result = await choose(ctx, definition);
    ctx.log("info", decided(result));
    return { result };
  },
});

function decided({ branch }: JsonObject): string {
  return `Took the branch ${branch}.`;
}

type Branches = Static<typeof Definition>;

/** Throws `ExpressionTooLong` if it can't be decided immediately. */
function decide(definition: Branches, scope: Scope): JsonObject {
  return taken(definition, firstThatHolds(textsOf(definition), scope, openBudgetHere()));
}

/** Evaluates immediately if that is quick, otherwise in a child process. */
async function choose(
  { compute, scope, kept, run, signal }: RunContext,
  definition: Branches,
): Promise<JsonObject> {
  try {
    if (kept.length === 0) return decide(definition, scope);
  } catch (error) {
    if (!(error instanceof ExpressionTooLong)) throw error;
    await yieldNow(); // many runs may be decided here in a row
  }
  const request = { texts: textsOf(definition), scope, kept, allowanceMs: MAX_CONDITIONS_MS };
  const { organizationId } = run;
  return taken(definition, (await decideConditions(compute, request, { organizationId, signal })).first);
}

const textsOf = ({ branches }: Branches) => branches.map(({ when }) => when);

function taken({ branches, else: otherwise }: Branches, first: number | null): JsonObject {
  const branch = first === null ? otherwise : branches[first]?.key;
  if (branch !== undefined) return { branch };
  const message = "No branch was taken: no condition is true, and there is no else.";
  throw new AppError("no_branch", message, { details: { branches: branches.map(({ key }) => key) } });
}
