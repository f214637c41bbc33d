import type {
  ActionCreate,
  ActionPage,
  ActionPatch,
  ActionQuery,
  Action as ActionShape,
  RunCreate,
  StatePage,
  StateReset,
} from "../../src/resources/actions/wire.ts";
import type {
  ApprovalPage,
  ApprovalQuery,
  Approval as ApprovalShape,
} from "../../src/resources/approvals/wire.ts";
import type {
  AutomationCreate,
  AutomationPage,
  AutomationPatch,
  AutomationQuery,
  AutomationRetry,
  AutomationRunCreate,
  AutomationRunPage,
  AutomationRunQuery,
  AutomationRun as AutomationRunShape,
  Automation as AutomationShape,
} from "../../src/resources/automations/wire.ts";
import type { BundleInstall, BundlePage, BundleQuery, Install } from "../../src/resources/bundles/wire.ts";
import type { Answer, DecisionPage, DecisionQuery } from "../../src/resources/decisions/wire.ts";
import type { LogPage, LogQuery, RunPage, RunQuery, Run as RunShape } from "../../src/resources/runs/wire.ts";
import type {
  TemplateChange,
  TemplateCreate,
  TemplatePage,
  TemplateQuery,
  Template as TemplateShape,
  VersionQuery,
} from "../../src/resources/templates/wire.ts";
import type { ActionKindInfo, Asked, Nothing, Of } from "./shape.ts";

/** What is built and runs: actions, automations, what waits for people, bundles and templates. */
export interface WorkCalls {
  "GET /api/v1/action-kinds": { reply: { kinds: ActionKindInfo[] } };
  "GET /api/v1/actions": { query: Asked<typeof ActionQuery>; reply: Of<typeof ActionPage> };
  "POST /api/v1/actions": { body: Of<typeof ActionCreate>; reply: Of<typeof ActionShape> };
  "GET /api/v1/actions/{action_id}": { reply: Of<typeof ActionShape> };
  "PATCH /api/v1/actions/{action_id}": { body: Of<typeof ActionPatch>; reply: Of<typeof ActionShape> };
  "DELETE /api/v1/actions/{action_id}": { reply: Nothing };
  "POST /api/v1/actions/{action_id}/run": { body: Of<typeof RunCreate>; reply: Of<typeof RunShape> };
  "GET /api/v1/actions/{action_id}/state": { reply: Of<typeof StatePage> };
  "POST /api/v1/actions/{action_id}/state/reset": {
    body: Of<typeof StateReset>;
    reply: Of<typeof StatePage>;
  };
  "GET /api/v1/action-runs": { query: Asked<typeof RunQuery>; reply: Of<typeof RunPage> };
  "GET /api/v1/action-runs/{run_id}": { reply: Of<typeof RunShape> };
  "POST /api/v1/action-runs/{run_id}/cancel": { reply: Of<typeof RunShape> };
  "POST /api/v1/action-runs/{run_id}/retry": { reply: Of<typeof RunShape> };
  "GET /api/v1/action-runs/{run_id}/logs": { query: Asked<typeof LogQuery>; reply: Of<typeof LogPage> };
  "GET /api/v1/action-runs/{run_id}/stream": { reply: never };
  "GET /api/v1/automations": { query: Asked<typeof AutomationQuery>; reply: Of<typeof AutomationPage> };
  "POST /api/v1/automations": { body: Asked<typeof AutomationCreate>; reply: Of<typeof AutomationShape> };
  "GET /api/v1/automations/{automation_id}": { reply: Of<typeof AutomationShape> };
  "PATCH /api/v1/automations/{automation_id}": {
    body: Of<typeof AutomationPatch>;
    reply: Of<typeof AutomationShape>;
  };
  "DELETE /api/v1/automations/{automation_id}": { reply: Nothing };
  "POST /api/v1/automations/{automation_id}/run": {
    body: Of<typeof AutomationRunCreate>;
    reply: Of<typeof AutomationRunShape>;
  };
  "GET /api/v1/automations/{automation_id}/runs": {
    query: Asked<typeof AutomationRunQuery>;
    reply: Of<typeof AutomationRunPage>;
  };
  "GET /api/v1/automation-runs/{run_id}": { reply: Of<typeof AutomationRunShape> };
  "POST /api/v1/automation-runs/{run_id}/cancel": { reply: Of<typeof AutomationRunShape> };
  "POST /api/v1/automation-runs/{run_id}/retry": {
    body: Asked<typeof AutomationRetry>;
    reply: Of<typeof AutomationRunShape>;
  };
  "GET /api/v1/approvals": { query: Asked<typeof ApprovalQuery>; reply: Of<typeof ApprovalPage> };
  "POST /api/v1/approvals/{approval_id}/approve": {
    body: Of<typeof Answer>;
    reply: Of<typeof ApprovalShape>;
  };
  "POST /api/v1/approvals/{approval_id}/reject": {
    body: Of<typeof Answer>;
    reply: Of<typeof ApprovalShape>;
  };
  "GET /api/v1/decisions": { query: Asked<typeof DecisionQuery>; reply: Of<typeof DecisionPage> };
  "GET /api/v1/bundles": { query: Asked<typeof BundleQuery>; reply: Of<typeof BundlePage> };
  "POST /api/v1/bundles/{slug}/install": {
    query: Of<typeof VersionQuery>;
    body: Of<typeof BundleInstall>;
    reply: Of<typeof Install>;
  };
  "GET /api/v1/templates": { query: Asked<typeof TemplateQuery>; reply: Of<typeof TemplatePage> };
  "POST /api/v1/templates": { body: Of<typeof TemplateCreate>; reply: Of<typeof TemplateShape> };
  "GET /api/v1/templates/slug/{slug}": {
    query: Of<typeof VersionQuery>;
    reply: Of<typeof TemplateShape>;
  };
  "GET /api/v1/templates/{template_id}": { reply: Of<typeof TemplateShape> };
  "PUT /api/v1/templates/{template_id}": {
    body: Of<typeof TemplateChange>;
    reply: Of<typeof TemplateShape>;
  };
  "DELETE /api/v1/templates/{template_id}": { reply: Nothing };
  "POST /api/v1/templates/{template_id}/publish": { reply: Of<typeof TemplateShape> };
  "POST /api/v1/templates/{template_id}/deprecate": { reply: Of<typeof TemplateShape> };
}
