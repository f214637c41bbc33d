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

/** What carries a step out: a stored action, or a kind with its definition. */
export const Work = {
  actionId: optional(described("ID of a stored action that does the work", uuid())),
  kind: optional(oneOf(ACTION_KINDS, { description: "Kind of the step, if it has its own definition" })),
  definition: optional(jsonObject({ description: "Settings of the kind" })),
  connectionId: optional(
    typed(
      "StepConnection",
      described("ID of the connection that the definition works with; null for none", nullable(uuid())),
    ),
  ),
};

const TableRowsShape = object(
  {
    table: described(
      "As SQL names it, such as marts.orders",
      Type.String({ minLength: 3, maxLength: 400, pattern: '^[^."]+\\.[^."]+$', examples: ["marts.orders"] }),
    ),
    where: optional(
      described(
        "SQL; templates in it become parameters",
        Type.String({ minLength: 1, maxLength: 100_000, examples: ["total > {{payload.least}}"] }),
      ),
    ),
    orderBy: optional(
      described(
        "SQL, as where is",
        Type.String({ minLength: 1, maxLength: 4096, examples: ["ordered_at DESC"] }),
      ),
    ),
    parameters: optional(
      described("Values for $name in the SQL", jsonObject({ examples: [{ least: 100 }] })),
    ),
    batch: optional(
      described(
        "Number of rows in one item, which is then a list",
        Type.Integer({ minimum: 1, maximum: 1000, examples: [100] }),
      ),
    ),
  },
  { title: "Table" },
);

/** Fields of a step beside its work; each is a component, as a step's schema has one variant for each kind. */
const STEP = {
  key: typed(
    "StepKey",
    described(
      "Name of the step within the automation; templates read its result as steps.KEY.result",
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
          "Keys of the steps that it runs after, or KEY:BRANCH for one branch of a conditional_branch",
        examples: [["load"]],
      }),
    ),
  ),
  when: optional(
    typed(
      "StepCondition",
      described(
        "Condition in CEL; the step is skipped where it does not hold",
        Type.String({ minLength: 1, maxLength: 4096, examples: ["payload.total > 100"] }),
      ),
    ),
  ),
  forEach: optional(
    typed(
      "StepForEach",
      described(
        "A list that the step runs for, item by item, or rows of a table as they are when the step begins",
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
          description: "Maximum number of items at once, with forEach",
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
          description:
            "Whether the automation fails when the step does, or continues with the steps after it",
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
              { description: "Seconds to wait, or a template for them", examples: [3600] },
            ),
          ),
          until: optional(
            Type.String({
              minLength: 1,
              maxLength: 4096,
              description: "Time with its zone, or templates for it",
              examples: ["2026-01-31T12:00:00Z"],
            }),
          ),
        },
        { description: "How long the step waits before it begins, or until when; can be a template" },
      ),
    ),
  ),
  pinned: optional(
    typed(
      "StepPinned",
      described("A result that stands in for the step in test runs", exemplified([{ rows: 3 }], anything())),
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
