import { and, eq, isNull } from "drizzle-orm";
import { InvalidInput, invalid } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import type { WriteContext } from "../../context.ts";
import { credentialsSchemaOf } from "../../providers/http-template/credentials.ts";
import { HttpTemplate, httpTemplateFaults } from "../../providers/http-template/definition.ts";
import { HTTP_PROVIDER } from "../../providers/http-template/http-template.ts";
import { insertAction, updateAction } from "../actions/service.ts";
import { actions } from "../actions/table.ts";
import { fillAction } from "../actions/template.ts";
import { renameSpec } from "../agents/markdown.ts";
import { createAgentSpec, updateAgentSpec } from "../agents/service.ts";
import { agentSpecs } from "../agents/table.ts";
import { createAutomation, updateAutomation } from "../automations/service.ts";
import { automations } from "../automations/table.ts";
import { insertConnection } from "../connections/create.ts";
import { openCredentials } from "../connections/credentials.ts";
import { settingsFaults, takerFor } from "../connections/input.ts";
import { connections } from "../connections/table.ts";
import { updateConnection } from "../connections/update.ts";
import { namedTemplate, refuseUnpublished } from "../template-library/find.ts";
import {
  ActionPart,
  AgentPart,
  AutomationPart,
  type Component,
  ConnectionPart,
  isHttpDefinition,
} from "./definition.ts";

/** A component whose templates have been filled in. */
export interface Ready {
  component: Component;
  name: string;
  definition: JsonObject | null;
  connectionId: string | null;
  /** Inputs of the template: those named for it, otherwise the bundle's own. */
  inputs: JsonObject;
  /** The bundle's inputs that can only be used in credentials. */
  secrets: readonly string[];
  /** The bundle's template. */
  bundleId: string;
}

/** The resource that exists for a component. */
export interface Entity {
  id: string;
  slug: string;
  name: string;
  /** Generated now, and returned only once. */
  secret?: string | null;
}

const LOC = ["definition"];

/** Creates what a component describes. Throws what creating it directly would throw. */
export async function makeEntity(tx: WriteContext, ready: Ready): Promise<Entity> {
  const { name } = ready;
  switch (ready.component.type) {
    case "connection": {
      const { provider, config, credentials, templateId, definition } = await connectionOf(tx, ready);
      return insertConnection(tx, { name, provider, config, credentials }, { templateId, definition });
    }
    case "action": {
      const { kind, definition, connectionId, templateId } = await actionOf(tx, ready);
      return (await insertAction(tx, { kind, name, definition, connectionId }, templateId)).action;
    }
    case "automation": {
      const { triggerType, description, config } = automationOf(ready);
      const input = { name, triggerType, description, config };
      const { automation, secret } = await createAutomation(tx, input, ready.bundleId);
      const { id, slug } = automation;
      return { id, slug, name: automation.name, secret: typeof config.secret === "string" ? null : secret };
    }
    case "agent_spec":
      return createAgentSpec(tx, await agentOf(ready));
  }
}

/** Updates a resource from an earlier install to match the component. Null if it must be recreated. */
export async function updateEntity(tx: WriteContext, id: string, ready: Ready): Promise<Entity | null> {
  switch (ready.component.type) {
    case "connection":
      return updateMadeConnection(tx, id, ready);
    case "action": {
      const { kind, definition, connectionId, templateId } = await actionOf(tx, ready);
      const [row] = await tx.db.select().from(actions).where(eq(actions.id, id));
      if (row?.kind !== kind) return null;
      await tx.db.update(actions).set({ templateId }).where(eq(actions.id, id));
      return (await updateAction(tx, id, { definition, connectionId })).action;
    }
    case "automation": {
      const { triggerType, description, config } = automationOf(ready);
      const [row] = await tx.db.select().from(automations).where(eq(automations.id, id));
      if (row?.triggerType !== triggerType) return null;
      await tx.db.update(automations).set({ templateId: ready.bundleId }).where(eq(automations.id, id));
      const change = { config: replacing(row.config, config), description: description ?? null };
      return (await updateAutomation(tx, id, change)).automation;
    }
    case "agent_spec":
      return updateAgentSpec(tx, id, await agentOf(ready));
  }
}

/** Returns the Markdown of an agent, with the component's name if it has one. */
async function agentOf({ component, name, definition }: Ready): Promise<string> {
  const { markdown } = checked(AgentPart, definition ?? {});
  return component.name === undefined ? markdown : renameSpec(markdown, name);
}

/** Returns a patch that leaves only what is in `after`. */
const replacing = (before: JsonObject, after: JsonObject): JsonObject => ({
  ...Object.fromEntries(Object.keys(before).map((key) => [key, null])),
  ...after,
});

async function updateMadeConnection(tx: WriteContext, id: string, ready: Ready): Promise<Entity | null> {
  const { provider, config, credentials, templateId, definition } = await connectionOf(tx, ready);
  const [row] = await tx.db.select().from(connections).where(eq(connections.id, id));
  if (row?.provider !== provider || (row.definition === null) !== (definition === null)) return null;
  // What the new definition no longer names is removed. Everything else is kept unless the request sets it.
  const gone = Object.keys(openCredentials(tx, row)).filter((name) => !isCredential(definition, name));
  const patch = {
    config: replacing(row.config, config),
    ...(gone.length > 0 || credentials
      ? { credentials: { ...Object.fromEntries(gone.map((name) => [name, null])), ...credentials } }
      : {}),
  };
  const origin = { templateId, definition };
  return updateConnection(tx, id, patch, { origin, keepsSame: true, mayLack: credentials === undefined });
}

function isCredential(definition: HttpTemplate | null, name: string): boolean {
  const schema = definition ? credentialsSchemaOf(definition) : undefined;
  return !isObject(schema?.properties) || namesIn(schema).includes(name);
}

/** Returns the current resource. Null if it was deleted. */
export async function entityOf(
  tx: WriteContext,
  { type, entityId }: { type: Component["type"]; entityId: string },
): Promise<Entity | null> {
  const of = { organizationId: tx.organizationId, id: entityId };
  switch (type) {
    case "connection": {
      const { id, slug, name, organizationId } = connections;
      const mine = and(eq(organizationId, of.organizationId), eq(id, of.id));
      return (await tx.db.select({ id, slug, name }).from(connections).where(mine))[0] ?? null;
    }
    case "action": {
      const { id, slug, name, organizationId, deletedAt } = actions;
      const mine = and(eq(organizationId, of.organizationId), eq(id, of.id), isNull(deletedAt));
      return (await tx.db.select({ id, slug, name }).from(actions).where(mine))[0] ?? null;
    }
    case "automation": {
      const { id, slug, name, organizationId, deletedAt } = automations;
      const mine = and(eq(organizationId, of.organizationId), eq(id, of.id), isNull(deletedAt));
      return (await tx.db.select({ id, slug, name }).from(automations).where(mine))[0] ?? null;
    }
    case "agent_spec": {
      const { id, slug, name, organizationId } = agentSpecs;
      const mine = and(eq(organizationId, of.organizationId), eq(id, of.id));
      return (await tx.db.select({ id, slug, name }).from(agentSpecs).where(mine))[0] ?? null;
    }
  }
}

async function connectionOf(tx: WriteContext, ready: Ready) {
  const { component, definition } = ready;
  if (definition !== null && !isHttpDefinition(definition)) {
    const part = checked(ConnectionPart, definition);
    if (!tx.providers.has(part.provider))
      throw invalid([...LOC, "provider"], `Unknown provider ${part.provider}`, "enum");
    const { provider } = takerFor(tx, { provider: part.provider, definition: null });
    refuseFaults(settingsFaults({ provider, definition: null }, { ...part }, LOC));
    const credentials = part.credentials as Record<string, string> | null | undefined;
    return {
      provider: part.provider,
      config: part.config ?? {},
      credentials: credentials ?? {},
      templateId: null,
      definition: null,
    };
  }
  const template = definition === null ? await templateOf(tx, component, "connection") : null;
  const http = (template?.definition as HttpTemplate | undefined) ?? checkedHttp(definition);
  const taker = takerFor(tx, { provider: HTTP_PROVIDER, definition: http });
  const names = namesIn(credentialsSchemaOf(http));
  const inputs = Object.entries(ready.inputs);
  const credentials = Object.fromEntries(inputs.filter(([name]) => names.includes(name)));
  const config = Object.fromEntries(
    inputs.filter(
      ([name]) =>
        !names.includes(name) && !ready.secrets.includes(name) && namesIn(http.configSchema).includes(name),
    ),
  );
  // Without a schema of its own, a component may leave its credentials to be set later.
  const isLater = !http.credentialsSchema && Object.keys(credentials).length === 0;
  refuseFaults(settingsFaults(taker, { config, ...(isLater ? {} : { credentials }) }, []));
  return {
    provider: HTTP_PROVIDER,
    config,
    credentials: isLater ? undefined : (credentials as Record<string, string>),
    templateId: template?.id ?? ready.bundleId,
    definition: http,
  };
}

const namesIn = (schema: JsonObject | undefined): string[] =>
  isObject(schema?.properties) ? Object.keys(schema.properties) : [];

async function actionOf(tx: WriteContext, ready: Ready) {
  if (ready.definition !== null) {
    const { kind, definition, connectionId } = checked(ActionPart, ready.definition);
    return {
      kind,
      definition: definition ?? {},
      connectionId: connectionId ?? null,
      templateId: ready.bundleId,
    };
  }
  const template = await templateOf(tx, ready.component, "action");
  if (template.kind === null) throw invalid(["templateSlug"], `The template ${template.slug} has no kind`);
  const { properties } = template.inputJsonSchema;
  const isTaken = (name: string) => !isObject(properties) || Object.hasOwn(properties, name);
  const inputs = Object.entries(ready.inputs).filter(
    ([name]) => isTaken(name) && !ready.secrets.includes(name),
  );
  const values: JsonObject = Object.fromEntries(inputs);
  return {
    kind: template.kind as ActionPart["kind"],
    definition: fillAction(tx, template, values, ["inputs"]),
    connectionId: ready.connectionId,
    templateId: template.id,
  };
}

function automationOf({ definition }: Ready): AutomationPart {
  return checked(AutomationPart, definition ?? {});
}

async function templateOf(tx: WriteContext, component: Component, type: "connection" | "action") {
  const { templateSlug, templateVersion } = component;
  const reference = { templateSlug: templateSlug ?? null, templateVersion: templateVersion ?? null };
  const template = await namedTemplate(tx, reference, type);
  if (!template) throw invalid(["templateSlug"], `There is no ${type} template ${templateSlug}`, "not_found");
  refuseUnpublished(template);
  return template;
}

function checked<T extends Parameters<typeof read>[0]>(shape: T, value: Json) {
  const { value: known, faults } = read(shape, value, LOC);
  refuseFaults(faults);
  return known;
}

/** Checks an inline API definition, now that its inputs are known. */
function checkedHttp(definition: JsonObject | null): HttpTemplate {
  const http = checked(HttpTemplate, definition);
  refuseFaults(
    httpTemplateFaults(http).map(({ path, message }) => ({
      loc: [...LOC, ...path],
      msg: message,
      type: "value_error",
    })),
  );
  return http;
}

function refuseFaults(faults: ConstructorParameters<typeof InvalidInput>[0]): void {
  if (faults.length > 0) throw new InvalidInput(faults);
}
