import { object, uuid } from "../../base/shape.ts";
import { mapInSlices } from "../../base/slices.ts";
import { cancelAutomationRun } from "../../flows/cancel.ts";
import { findAutomation, findAutomationRun } from "../../flows/find.ts";
import { failuresOf } from "../../flows/item-failures.ts";
import { runAutomation } from "../../flows/start.ts";
import { operation } from "../../http/operation.ts";
import { triggerOf } from "../../http/trigger.ts";
import { namesOfSteps } from "../runs/step-names.ts";
import { isHidden } from "../runs/wire-private.ts";
import { usersById } from "../users/people.ts";
import { automationNames, listAllRuns } from "./all-runs.ts";
import { duplicateAutomation } from "./duplicate.ts";
import { creationFaults } from "./faults.ts";
import { retryAutomationRun } from "./retry.ts";
import { listAutomationRuns } from "./runs.ts";
import {
  createAutomation,
  deleteAutomation,
  listAutomations,
  updateAutomation,
  updateFaults,
} from "./service.ts";
import { testAutomation } from "./test.ts";
import {
  Automation,
  AutomationCreate,
  AutomationDuplicate,
  AutomationPage,
  AutomationPatch,
  AutomationQuery,
  AutomationRetry,
  AutomationRun,
  AutomationRunCreate,
  AutomationRunPage,
  AutomationRunQuery,
  AutomationTest,
  toAutomation,
  toAutomationRun,
} from "./wire.ts";
import { AllRunsPage, AllRunsQuery, toListedRun } from "./wire-all-runs.ts";

const tag = "Automations";
const params = object({ automation_id: uuid() });
const runParams = object({ run_id: uuid() });

export const automationOperations = [
  operation({
    method: "GET",
    path: "/api/v1/automations",
    audience: "viewer",
    tag,
    summary: "List automations",
    query: AutomationQuery,
    response: AutomationPage,
    async handle({ app, ctx, query }) {
      const { rows, total } = await listAutomations(ctx, query);
      const { limit, offset } = query;
      const users = await usersById(
        ctx,
        rows.flatMap(({ automation }) => [automation.createdBy, automation.updatedBy]),
      );
      const automations = await mapInSlices(rows, (row) => toAutomation(app, row));
      return { automations, hasNext: offset + rows.length < total, limit, offset, total, users };
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/automations",
    audience: "member",
    tag,
    summary: "Create an automation",
    description: "A webhook's signing secret is returned only once.",
    body: AutomationCreate,
    hasDefinitions: true,
    bodyExample: {
      name: "New orders",
      triggerType: "webhook",
      config: {
        path: "orders",
        action: {
          kind: "http_request",
          definition: { method: "POST", url: "https://example.com/", body: "{{payload}}" },
        },
      },
    },
    faults: creationFaults,
    status: 201,
    response: Automation,
    idempotent: "sealed",
    errors: [409],
    async handle({ app, ctx, body }) {
      const made = await createAutomation(ctx, body);
      return toAutomation(app, made, made.secret);
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/automations/{automation_id}",
    audience: "viewer",
    tag,
    summary: "Get an automation",
    params,
    response: Automation,
    handle: async ({ app, ctx, params }) =>
      toAutomation(app, await findAutomation(ctx, params.automation_id)),
  }),
  operation({
    method: "PATCH",
    path: "/api/v1/automations/{automation_id}",
    audience: "member",
    tag,
    summary: "Update an automation",
    description: "Changes only the fields in the body, also inside config.",
    params,
    body: AutomationPatch,
    hasDefinitions: true,
    furtherFaults: ({ ctx, params: { automation_id = "" }, raw }) => updateFaults(ctx, automation_id, raw),
    response: Automation,
    errors: [409],
    handle: async ({ app, ctx, params, body }) =>
      toAutomation(app, await updateAutomation(ctx, params.automation_id, body)),
  }),
  operation({
    method: "DELETE",
    path: "/api/v1/automations/{automation_id}",
    audience: "member",
    tag,
    summary: "Delete an automation",
    description: "Its runs are kept.",
    params,
    status: 204,
    handle: async ({ ctx, params }) => deleteAutomation(ctx, params.automation_id),
  }),
  operation({
    method: "POST",
    path: "/api/v1/automations/{automation_id}/duplicate",
    audience: "member",
    tag,
    summary: "Duplicate an automation",
    description:
      "The copy is a draft with the same config, tags and layout. A webhook or form gets a free path. The credentials of senders aren't copied: a generated secret is returned only in this reply, and a token is needed before the copy is activated.",
    params,
    body: AutomationDuplicate,
    bodyOptional: true,
    status: 201,
    response: Automation,
    idempotent: "sealed",
    errors: [409],
    async handle({ app, ctx, params, body }) {
      const made = await duplicateAutomation(ctx, params.automation_id, body.name);
      return toAutomation(app, made, made.secret);
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/automations/{automation_id}/run",
    audience: "member",
    tag,
    summary: "Run an automation",
    params,
    body: AutomationRunCreate,
    bodyOptional: true,
    takesData: true,
    status: 201,
    response: AutomationRun,
    idempotent: true,
    errors: [409],
    handle: async ({ ctx, params, body, identity }) =>
      toAutomationRun(ctx, await runAutomation(ctx, params.automation_id, body.input, triggerOf(identity))),
  }),
  operation({
    method: "POST",
    path: "/api/v1/automations/{automation_id}/test",
    audience: "member",
    tag,
    summary: "Test an automation",
    description:
      "Uses the config in the body for this run only. Steps with a pinned result don't run. Without `input` and `fromRunId`, it begins with the config's `pinnedInput`. With `upTo`, only that step and those it depends on run. `fromRunId` reuses the trigger's data of another run. Steps that run have their real effects. To send a config or results, a token needs the scope `write`.",
    params,
    body: AutomationTest,
    hasDefinitions: true,
    bodyOptional: true,
    bodyExample: { input: { total: 12 } },
    status: 201,
    response: AutomationRun,
    idempotent: true,
    errors: [409, 410],
    handle: async ({ ctx, params, body, identity }) =>
      toAutomationRun(ctx, await testAutomation(ctx, params.automation_id, body, triggerOf(identity))),
  }),
  operation({
    method: "GET",
    path: "/api/v1/automations/{automation_id}/runs",
    audience: "viewer",
    tag,
    summary: "List an automation's runs",
    params,
    query: AutomationRunQuery,
    response: AutomationRunPage,
    async handle({ ctx, params, query }) {
      const { rows, total } = await listAutomationRuns(ctx, params.automation_id, query);
      const { limit, offset } = query;
      const runs = await mapInSlices(rows, (row) => toAutomationRun(ctx, row));
      return { runs, hasNext: offset + rows.length < total, limit, offset, total };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/automation-runs",
    audience: "viewer",
    tag,
    summary: "List automation runs",
    query: AllRunsQuery,
    response: AllRunsPage,
    async handle({ ctx, query }) {
      const { rows, total } = await listAllRuns(ctx, query);
      const { limit, offset } = query;
      const names = await automationNames(
        ctx,
        rows.map((row) => row.automationId),
      );
      const stepName = await namesOfSteps(ctx, rows);
      const users = await usersById(
        ctx,
        rows.map((row) => (isHidden(ctx, row) ? null : row.triggerSourceId)),
      );
      const runs = await mapInSlices(rows, (row) => toListedRun(ctx, row, names, stepName));
      return { runs, hasNext: offset + rows.length < total, limit, offset, total, users };
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/automation-runs/{run_id}",
    audience: "viewer",
    tag,
    summary: "Get an automation run",
    description: "With its steps.",
    params: runParams,
    response: AutomationRun,
    async handle({ ctx, params }) {
      const run = await findAutomationRun(ctx, params.run_id);
      return toAutomationRun(ctx, run, await failuresOf(ctx.db, run.steps));
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/automation-runs/{run_id}/cancel",
    audience: "member",
    tag,
    summary: "Cancel an automation run",
    description: "And its unfinished steps.",
    params: runParams,
    response: AutomationRun,
    errors: [409],
    async handle({ ctx, params }) {
      const run = await cancelAutomationRun(ctx, params.run_id);
      return toAutomationRun(ctx, run, await failuresOf(ctx.db, run.steps));
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/automation-runs/{run_id}/retry",
    audience: "member",
    tag,
    summary: "Retry an automation run",
    description:
      "From the failed steps, with everything that depends on them, or from the beginning. The run must have finished.",
    params: runParams,
    body: AutomationRetry,
    bodyOptional: true,
    status: 201,
    response: AutomationRun,
    idempotent: true,
    errors: [409, 410],
    handle: async ({ ctx, params, body, identity }) =>
      toAutomationRun(
        ctx,
        await retryAutomationRun(ctx, params.run_id, body.fromFailed, {
          ...triggerOf(identity),
          method: "retry",
        }),
      ),
  }),
];
