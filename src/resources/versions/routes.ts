import { object, uuid } from "../../base/shape.ts";
import type { Context } from "../../context.ts";
import { findAutomation } from "../../flows/find.ts";
import { operation } from "../../http/operation.ts";
import { findAction, restoreAction } from "../actions/service.ts";
import { Action, toAction } from "../actions/wire.ts";
import { findAgentSpec, restoreAgentSpec } from "../agents/service.ts";
import { AgentSpec, toAgentSpec } from "../agents/wire.ts";
import { restoreAutomation } from "../automations/restore.ts";
import { Automation, toAutomation } from "../automations/wire.ts";
import { usersById } from "../users/people.ts";
import { findVersion, listVersions, type Versioned } from "./service.ts";
import { toVersion, toWholeVersion, VersionNumber, VersionPage, VersionQuery, WholeVersion } from "./wire.ts";

async function pageOf(ctx: Context, of: Versioned, query: { limit: number; offset: number }) {
  const { rows, total } = await listVersions(ctx, of, query);
  const { limit, offset } = query;
  const users = await usersById(
    ctx,
    rows.map(({ createdBy }) => createdBy),
  );
  return {
    versions: rows.map(toVersion),
    hasNext: offset + rows.length < total,
    limit,
    offset,
    total,
    users,
  };
}

const wholeOf = async (ctx: Context, of: Versioned, version: string) =>
  toWholeVersion(await findVersion(ctx, of, Number(version)));

const LISTS =
  "Newest first. Every change creates a version, with its number, author, time and changed fields.";
const RESTORES = "Creates a new version with the fields of an earlier one.";

export const versionOperations = [
  operation({
    method: "GET",
    path: "/api/v1/automations/{automation_id}/versions",
    audience: "viewer",
    tag: "Automations",
    summary: "List an automation's versions",
    description: LISTS,
    params: object({ automation_id: uuid() }),
    query: VersionQuery,
    response: VersionPage,
    async handle({ ctx, params: { automation_id: id }, query }) {
      await findAutomation(ctx, id);
      return pageOf(ctx, { type: "automation", id }, query);
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/automations/{automation_id}/versions/{version}",
    audience: "viewer",
    tag: "Automations",
    summary: "Get a version of an automation",
    params: object({ automation_id: uuid(), version: VersionNumber }),
    response: WholeVersion,
    async handle({ ctx, params: { automation_id: id, version } }) {
      await findAutomation(ctx, id);
      return wholeOf(ctx, { type: "automation", id }, version);
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/automations/{automation_id}/versions/{version}/restore",
    audience: "member",
    tag: "Automations",
    summary: "Restore a version of an automation",
    description: `${RESTORES} Versions have no secrets: how the sender of a webhook authenticates stays as it is, and so do alerts if one of their Slack URLs has changed.`,
    params: object({ automation_id: uuid(), version: VersionNumber }),
    guards: "/api/v1/automations/{automation_id}",
    response: Automation,
    errors: [409],
    handle: async ({ app, ctx, params }) =>
      toAutomation(app, await restoreAutomation(ctx, params.automation_id, Number(params.version))),
  }),
  operation({
    method: "GET",
    path: "/api/v1/actions/{action_id}/versions",
    audience: "viewer",
    tag: "Actions",
    summary: "List an action's versions",
    description: LISTS,
    params: object({ action_id: uuid() }),
    query: VersionQuery,
    response: VersionPage,
    async handle({ ctx, params: { action_id: id }, query }) {
      await findAction(ctx, id);
      return pageOf(ctx, { type: "action", id }, query);
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/actions/{action_id}/versions/{version}",
    audience: "viewer",
    tag: "Actions",
    summary: "Get a version of an action",
    params: object({ action_id: uuid(), version: VersionNumber }),
    response: WholeVersion,
    async handle({ ctx, params: { action_id: id, version } }) {
      await findAction(ctx, id);
      return wholeOf(ctx, { type: "action", id }, version);
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/actions/{action_id}/versions/{version}/restore",
    audience: "member",
    tag: "Actions",
    summary: "Restore a version of an action",
    description: RESTORES,
    params: object({ action_id: uuid(), version: VersionNumber }),
    guards: "/api/v1/actions/{action_id}",
    response: Action,
    errors: [409],
    handle: async ({ ctx, params }) =>
      toAction(await restoreAction(ctx, params.action_id, Number(params.version))),
  }),
  operation({
    method: "GET",
    path: "/api/v1/agents/specs/{spec_id}/versions",
    audience: "viewer",
    tag: "Agents",
    summary: "List an agent's versions",
    description: LISTS,
    params: object({ spec_id: uuid() }),
    query: VersionQuery,
    response: VersionPage,
    async handle({ ctx, params: { spec_id: id }, query }) {
      await findAgentSpec(ctx, id);
      return pageOf(ctx, { type: "agent_spec", id }, query);
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/agents/specs/{spec_id}/versions/{version}",
    audience: "viewer",
    tag: "Agents",
    summary: "Get a version of an agent",
    params: object({ spec_id: uuid(), version: VersionNumber }),
    response: WholeVersion,
    async handle({ ctx, params: { spec_id: id, version } }) {
      await findAgentSpec(ctx, id);
      return wholeOf(ctx, { type: "agent_spec", id }, version);
    },
  }),
  operation({
    method: "POST",
    path: "/api/v1/agents/specs/{spec_id}/versions/{version}/restore",
    audience: "member",
    tag: "Agents",
    summary: "Restore a version of an agent",
    description: RESTORES,
    params: object({ spec_id: uuid(), version: VersionNumber }),
    guards: "/api/v1/agents/specs/{spec_id}",
    response: AgentSpec,
    errors: [409],
    handle: async ({ ctx, params }) =>
      toAgentSpec(await restoreAgentSpec(ctx, params.spec_id, Number(params.version))),
  }),
];
