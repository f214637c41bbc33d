import { eq } from "drizzle-orm";
import { contextFor, write } from "../../src/context.ts";
import { createAgentSpec } from "../../src/resources/agents/service.ts";
import { createThread } from "../../src/resources/chat/threads.ts";
import { FileContentQuery } from "../../src/resources/connections/wire.ts";
import { deadLetters } from "../../src/resources/dead-letters/table.ts";
import { decisions } from "../../src/resources/decisions/table.ts";
import { webhookDeliveries } from "../../src/resources/inbound/table.ts";
import { requestExampleOf } from "../../src/resources/openapi/example.ts";
import { openSession } from "../../src/resources/sessions/service.ts";
import { users } from "../../src/resources/users/table.ts";
import { outboundDeliveries } from "../../src/resources/webhooks/table.ts";
import type { Client, startApp } from "../support/app.ts";
import { addHttp, endpoint, httpApi } from "../support/catalog.ts";
import { connect, localFiles } from "../support/connections.ts";
import { SECRET } from "../support/hook.ts";
import { loadTable } from "../support/lake.ts";
import { join, neighbour } from "../support/people.ts";
import {
  ACTIONS,
  AUTOMATIONS,
  branch,
  created,
  makeAction,
  makeAutomation,
  NOBODY,
} from "../support/work.ts";

/** Whose resources are created: an organization, and a user in it who may create all of them. */
export interface Side {
  app: Awaited<ReturnType<typeof startApp>>;
  organizationId: string;
  userId: string;
  /** Acts in the organization as its owner. */
  call: Client;
}

/** `before` has the values of the previous parameters. */
type Make = (side: Side, before: readonly string[]) => Promise<string> | string;

const contextOf = ({ app, organizationId, userId }: Side) =>
  contextFor(app.app, {
    organizationId,
    role: "owner",
    actor: { type: "user", id: userId },
    correlationId: "made-for-a-test",
  });

let count = 0;
const fresh = (name: string) => `${name}${++count}`;

const action: Make = async ({ call }) => (await makeAction(call, { slug: fresh("action-") })).id;
const run: Make = async (side) =>
  created(await side.call("POST", `${ACTIONS}/${await action(side, [])}/run`)).id;
const flow: Make = async ({ call }) =>
  (await makeAutomation(call, { action: { kind: "conditional_branch", definition: branch() } })).id;
const flowWithDraft: Make = async (side) => {
  const id = await flow(side, []);
  const draft = await side.call("PATCH", `${AUTOMATIONS}/${id}/draft`, { config: {} });
  if (draft.status !== 200) throw new Error(draft.text);
  return id;
};
/** As in the examples of operations with files. */
const EXAMPLE_FILE = (requestExampleOf(FileContentQuery) as { path: string }).path;

const connection: Make = async ({ call }) => {
  const { id } = await connect(call, localFiles(fresh("files-")));
  const headers = { "content-type": "application/octet-stream" };
  await call("PUT", `/api/v1/connections/${id}/files?path=${EXAMPLE_FILE}`, "x", headers);
  return id;
};
const artifact: Make = async (side) => {
  const body = { actionRunId: await run(side, []), kind: "text", content: "x" };
  return created(await side.call("POST", "/api/v1/artifacts", body)).id;
};
const hook = async ({ call }: Side) => {
  const path = fresh("hook");
  const config = { path, secret: SECRET, action: { kind: "conditional_branch", definition: branch() } };
  created(await call("POST", AUTOMATIONS, { name: path, triggerType: "webhook", config }));
  return path;
};
const form = async ({ call }: Side) => {
  const path = fresh("form");
  const action = { kind: "conditional_branch", definition: branch() };
  const config = { path, form: { title: path, schema: {}, access: "public" }, action };
  created(await call("POST", AUTOMATIONS, { name: path, triggerType: "form", config }));
  return path;
};
/** Inserted instead of sent, since the intake's rate is small. */
const delivery: Make = async (side) => {
  const { app, organizationId } = side;
  const id = app.app.ids.uuid();
  const at = app.clock.now().toISOString();
  const automationId = await flow(side, []);
  await app.app.store.write(async (db) => {
    await db.insert(webhookDeliveries).values({
      id,
      organizationId,
      automationId,
      status: "dead_letter",
      attempts: 1,
      receivedAt: at,
      updatedAt: at,
      headers: {},
      query: {},
      payload: {},
      isKept: true,
    });
  });
  return id;
};

const deadLetter: Make = async (side) => {
  const { app, organizationId } = side;
  const id = app.app.ids.uuid();
  const at = app.clock.now().toISOString();
  const deliveryId = await delivery(side, []);
  await app.app.store.write(async (db) => {
    await db.insert(deadLetters).values({
      id,
      organizationId,
      source: "inbound",
      sourceId: NOBODY,
      deliveryId,
      attempts: 1,
      firstFailedAt: at,
      lastFailedAt: at,
      error: null,
      replayCount: 0,
      status: "dead",
    });
  });
  return id;
};

const outbound: Make = async ({ app, organizationId }, [webhookId = ""]) => {
  const id = app.app.ids.uuid();
  await app.app.store.write(async (db) => {
    await db.insert(outboundDeliveries).values({
      id,
      organizationId,
      webhookId,
      eventSeq: 1,
      eventId: NOBODY,
      eventType: "action.created",
      createdAt: app.clock.now().toISOString(),
      status: "dead_letter",
      attempts: 1,
      isTest: false,
    });
  });
  return id;
};

const decision: Make = async (side) => {
  const { app, organizationId } = side;
  const id = app.app.ids.uuid();
  const at = app.clock.now().toISOString();
  const subjectId = await run(side, []);
  await app.app.store.write(async (db) => {
    await db.insert(decisions).values({
      id,
      organizationId,
      createdAt: at,
      updatedAt: at,
      title: "Ship it?",
      decisionType: "approve_reject",
      status: "pending",
      subjectType: "action_run",
      subjectId,
      onReject: "fail",
      onExpire: "reject",
      correlationId: "made-for-a-test",
    });
  });
  return id;
};

const dataset: Make = async (side) => {
  const name = fresh("shop");
  await loadTable(contextOf(side), { layer: "raw", dataset: name, table: name, select: "SELECT 1 AS one" });
  return name;
};

/** Nothing in it is called, and members have full access. */
const catalogEntry: Make = async ({ call }) =>
  (await addHttp(call, httpApi(fresh("api-"), { endpoints: [endpoint("list_orders", { enabled: false })] })))
    .id;

const session: Make = (side) =>
  write(contextOf(side), async (tx) => (await openSession(tx, "password")).row.id);

const spec = () => ({ markdown: `---\nname: ${fresh("Agent ")}\n---\nYou help.\n` });

/** The user's own, also for a viewer. */
const thread: Make = async (side) => {
  const agent = await createAgentSpec(contextOf(side), spec().markdown);
  return (await createThread(contextOf(side), { agentSpecId: agent.id })).id;
};

const madeBy =
  (path: string, body: () => object): Make =>
  async ({ call }) =>
    created(await call("POST", path, body())).id;

const template = () => ({
  slug: fresh("template-"),
  displayName: "Orders",
  templateType: "action",
  kind: "conditional_branch",
  definition: branch(),
});

/**
 * How to create the resource of a path's last parameter. The rules are tested with new resources for each call that may
 * change them. To add an operation on a new kind of resource, add one line here.
 */
const THINGS: Readonly<Record<string, Make>> = {
  "/webhooks/{org_id}": ({ organizationId }) => organizationId,
  "/webhooks/{org_id}/{path}": hook,
  "/api/v1/schemas/{name}": () => "config",
  "/api/v1/forms/{org_id}": ({ organizationId }) => organizationId,
  "/api/v1/forms/{org_id}/{path}": form,
  "/f/{org_id}": ({ organizationId }) => organizationId,
  "/f/{org_id}/{path}": form,
  "/api/v1/organizations/team/members/{membership_id}": async ({ app, organizationId }) =>
    (await join(app, "viewer", organizationId)).membership.id,
  "/api/v1/organizations/tokens/{token_id}": madeBy("/api/v1/access-tokens", () => ({ name: "spare" })),
  "/api/v1/organizations/invitations/{invitation_id}": madeBy("/api/v1/organizations/invitations", () => ({
    email: `${fresh("guest")}@example.com`,
  })),
  "/api/v1/installation/organizations/{organization_id}": async ({ app }) =>
    (await neighbour(app)).organization.id,
  "/api/v1/installation/users/{user_id}": async ({ app, organizationId }) =>
    (await join(app, "viewer", organizationId)).user.id,
  "/api/v1/users/me/invitations/{invitation_id}": async ({ app, userId }) => {
    const [user] = await app.app.store.db.select().from(users).where(eq(users.id, userId));
    const { call } = await neighbour(app);
    return created(await call("POST", "/api/v1/organizations/invitations", { email: user?.email })).id;
  },
  "/api/v1/sessions/{session_id}": session,
  "/api/v1/access-tokens/{token_id}": madeBy("/api/v1/access-tokens", () => ({ name: "spare" })),
  "/api/v1/api-keys/{key_id}": madeBy("/api/v1/api-keys", () => ({ name: "spare" })),
  "/api/v1/connections/slug/{slug}": async ({ call }) =>
    (await connect(call, localFiles(fresh("named-")))).slug,
  "/api/v1/connections/{connection_id}": connection,
  "/api/v1/api-catalog/{api_id}": catalogEntry,
  "/api/v1/api-catalog/{api_id}/endpoints/{name}": () => "list_orders",
  "/api/v1/actions/slug/{slug}": async ({ call }) => (await makeAction(call, { slug: fresh("slug-") })).slug,
  "/api/v1/actions/{action_id}": action,
  "/api/v1/action-runs/{run_id}": run,
  "/api/v1/automations/{automation_id}": flowWithDraft,
  "/api/v1/automations/{automation_id}/versions/{version}": () => "1",
  "/api/v1/actions/{action_id}/versions/{version}": () => "1",
  "/api/v1/agents/specs/{spec_id}/versions/{version}": () => "1",
  "/api/v1/automation-runs/{run_id}": async (side) =>
    created(await side.call("POST", `${AUTOMATIONS}/${await flow(side, [])}/run`)).id,
  "/api/v1/webhook-deliveries/{delivery_id}": delivery,
  "/api/v1/webhooks/{webhook_id}": madeBy("/api/v1/webhooks", () => ({
    url: "http://127.0.0.1:9/events",
    events: ["connection.deleted"],
  })),
  "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}": outbound,
  "/api/v1/dead-letters/{dead_letter_id}": deadLetter,
  "/api/v1/artifacts/{artifact_id}": artifact,
  "/api/v1/datasets/{layer}": () => "raw",
  "/api/v1/datasets/{layer}/{dataset}": dataset,
  "/iceberg/v1/{prefix}": ({ organizationId }) => organizationId,
  "/iceberg/v1/{prefix}/namespaces/{namespace}": async (side) => `raw\u001f${await dataset(side, [])}`,
  "/iceberg/v1/{prefix}/namespaces/{namespace}/tables/{table}": (_, [, namespace = ""]) =>
    namespace.split("\u001f")[1] ?? "",
  "/api/v1/agents/specs/{spec_id}": madeBy("/api/v1/agents/specs", spec),
  "/api/v1/dashboards/{dashboard_id}": madeBy("/api/v1/dashboards", () => ({ name: fresh("Dashboard ") })),
  "/api/v1/dashboards/{dashboard_id}/subscriptions/{subscription_id}": async (side, [dashboardId]) => {
    const [member] = (await side.call("GET", "/api/v1/organizations/team")).body.members;
    const body = { schedule: { cron: "0 7 * * *" }, recipients: [member.userId] };
    return created(await side.call("POST", `/api/v1/dashboards/${dashboardId}/subscriptions`, body)).id;
  },
  "/api/v1/shared-dashboards/{token}": async ({ call }) => {
    const body = { name: fresh("Shared "), sharing: "link" };
    return created(await call("POST", "/api/v1/dashboards", body))
      .shareUrl.split("/")
      .at(-1);
  },
  "/api/v1/queries/{query_id}": madeBy("/api/v1/queries", () => ({
    name: fresh("Query "),
    sql: "SELECT 1 AS one",
  })),
  "/api/v1/chat/threads/{thread_id}": thread,
  "/api/v1/approvals/{approval_id}": decision,
  "/api/v1/decisions/{decision_id}": decision,
  "/api/v1/bundles/{slug}": async ({ call }) => {
    const part = { kind: "conditional_branch", definition: branch() };
    const components = [{ key: "part", type: "action", name: "Part", definition: part }];
    const bundle = { ...template(), templateType: "bundle", kind: undefined, definition: { components } };
    const { id, slug } = created(await call("POST", "/api/v1/templates", bundle));
    await call("POST", `/api/v1/templates/${id}/publish`);
    return slug;
  },
  "/api/v1/templates/{template_id}": madeBy("/api/v1/templates", template),
  "/api/v1/templates/slug/{slug}": async ({ call }) =>
    created(await call("POST", "/api/v1/templates", template())).slug,
};

/** Creates the resources of each parameter of a path. */
export async function makeThings(side: Side, path: string): Promise<string[]> {
  const values: string[] = [];
  for (const { index, 0: parameter } of path.matchAll(/\{\w+\}/g)) {
    const place = path.slice(0, index) + parameter;
    const make = THINGS[place];
    if (!make) {
      throw new Error(
        `The rules can't be tested at ${path}: nobody has said what stands at ${place}. Add it to THINGS in test/rules/things.ts.`,
      );
    }
    values.push(await make(side, values));
  }
  return values;
}

/** Returns a path with its parameters filled in, in order. */
export function fill(path: string, values: readonly string[]): string {
  let index = 0;
  return path.replace(/\{\w+\}/g, () => encodeURIComponent(values[index++] ?? ""));
}
