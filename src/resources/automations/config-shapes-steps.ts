import { Type } from "@sinclair/typebox";
import {
  anything,
  described,
  exemplified,
  implied,
  jsonObject,
  named,
  nullable,
  object,
  oneOf,
  optional,
  typed,
  uuid,
} from "../../base/shape.ts";
import { ACTION_KINDS } from "../../executors/contract.ts";
import { MAX_DELAY_SECONDS } from "../../flows/delay.ts";

/** What a step runs: a stored action, or a kind with its definition. */
export const Work = {
  actionId: optional(described("ID of the stored action to run", uuid())),
  kind: optional(oneOf(ACTION_KINDS, { description: "Kind of the step, instead of actionId" })),
  definition: optional(jsonObject({ description: "Settings of the kind" })),
  connectionId: optional(
    typed(
      "StepConnection",
      described("ID of the connection that the definition uses. Null: none", nullable(uuid())),
    ),
  ),
};

const TableRowsShape = object(
  {
    table: described(
      "Table, as in SQL, such as marts.orders",
      Type.String({ minLength: 3, maxLength: 400, pattern: '^[^."]+\\.[^."]+$', examples: ["marts.orders"] }),
    ),
    where: optional(
      described(
        "Condition in SQL. Templates in it become parameters",
        Type.String({ minLength: 1, maxLength: 100_000, examples: ["total > {{payload.least}}"] }),
      ),
    ),
    orderBy: optional(
      described(
        "Order of the rows in SQL. Templates in it become parameters",
        Type.String({ minLength: 1, maxLength: 4096, examples: ["ordered_at DESC"] }),
      ),
    ),
    parameters: optional(
      described("Values for $name in the SQL", jsonObject({ examples: [{ least: 100 }] })),
    ),
    batch: optional(
      described(
        "Number of rows per item. Each item is then a list of rows",
        Type.Integer({ minimum: 1, maximum: 1000, examples: [100] }),
      ),
    ),
  },
  { title: "Table" },
);

/** The other fields of a step. Each is a component, since a step's schema has one variant per kind. */
const STEP = {
  key: typed(
    "StepKey",
    described(
      "Name of the step within the automation. Templates read its result as steps.KEY.result",
      Type.String({
        minLength: 1,
        maxLength: 100,
        pattern: "^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]*$",
        examples: ["load"],
      }),
    ),
  ),
  name: optional(
    typed("StepName", described("Name that people read", exemplified(["Load the orders"], named()))),
  ),
  dependsOn: optional(
    typed(
      "StepDependsOn",
      Type.Array(Type.String({ minLength: 1, maxLength: 201, examples: ["load"] }), {
        maxItems: 100,
        description:
          "Keys of the steps that must complete before this one, or KEY:BRANCH for a branch of a conditional_branch",
        examples: [["load"]],
      }),
    ),
  ),
  when: optional(
    typed(
      "StepCondition",
      described(
        "Condition in CEL. If it is false, the step is skipped",
        Type.String({ minLength: 1, maxLength: 4096, examples: ["payload.total > 100"] }),
      ),
    ),
  ),
  forEach: optional(
    typed(
      "StepForEach",
      described(
        "List of items to run the step for, or rows of a table as they are when the step starts",
        Type.Union(
          [
            Type.String({ minLength: 1, maxLength: 4096, title: "List", examples: ["{{payload.orders}}"] }),
            TableRowsShape,
          ],
          { examples: ["{{payload.orders}}"] },
        ),
      ),
    ),
  ),
  maxParallel: optional(
    typed(
      "StepMaxParallel",
      implied(
        10,
        Type.Integer({
          minimum: 1,
          maximum: 100,
          description: "Maximum number of items to run at once. Only with forEach",
        }),
      ),
    ),
  ),
  onError: optional(
    typed(
      "StepOnError",
      implied(
        "fail",
        oneOf(["fail", "continue"], {
          description: "If the step fails: fail the automation run, or continue with the steps after it",
        }),
      ),
    ),
  ),
  delay: optional(
    typed(
      "StepDelay",
      object(
        {
          seconds: optional(
            Type.Union(
              [
                Type.Number({ minimum: 0, maximum: MAX_DELAY_SECONDS }),
                Type.String({ minLength: 1, maxLength: 4096, title: "Template" }),
              ],
              { description: "Seconds to wait. Can be a template", examples: [3600] },
            ),
          ),
          until: optional(
            Type.String({
              minLength: 1,
              maxLength: 4096,
              description: "Time to wait for, with its time zone. Can be a template",
              examples: ["2026-01-31T12:00:00Z"],
            }),
          ),
        },
        { description: "Delay before the step starts: a number of seconds, or until a time" },
      ),
    ),
  ),
  pinned: optional(
    typed(
      "StepPinned",
      described(
        "Result to use in test runs instead of running the step",
        exemplified([{ rows: 3 }], anything()),
      ),
    ),
  ),
};

export const EXAMPLE_WORK = { kind: "http_request", definition: { url: "https://api.example.com/orders" } };
const EXAMPLE_STEP = { key: "load", ...EXAMPLE_WORK };

export const StepShape = typed(
  "AutomationStep",
  object({ key: STEP.key, name: STEP.name, ...Work, ...withoutNames(STEP) }, { examples: [EXAMPLE_STEP] }),
);

function withoutNames({ key: _, name: __, ...rest }: typeof STEP) {
  return rest;
}
