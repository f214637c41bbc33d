import { systemClock } from "../../base/clock.ts";
import type { Fault } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { App } from "../../context.ts";
import type { Operation } from "../../http/operation.ts";
import { version } from "../../version.ts";
import type { Api } from "../verbs.ts";
import { BY_NOUN, type Sender } from "./by-noun.ts";
import { lineIn, nameOf } from "./carry.ts";
import type { Plan } from "./plan.ts";
import type { Wanted } from "./read.ts";
import { decoded } from "./text.ts";

/** Stands for the ID of anything that a file refers to. */
const SOME_ID = "00000000-0000-7000-8000-000000000000";

/** Whether a secret that is written out was there before is only known by the server. */
const TYPED_SECRET = "use_a_connection";

/**
 * Adds to the faults of a plan what is wrong with the resources that it creates or changes, by the rules of the
 * operations. A server of another version has its own rules. What depends on its state is left to the server, too.
 */
export async function checkPlan(api: Api, plan: Plan): Promise<void> {
  const steps = plan.steps.filter((step) => step.operation === "create" || step.operation === "change");
  if (plan.faults.length > 0 || steps.length === 0) return;
  const { body: meta } = await api.get<{ version: string }>("/api/v1/meta");
  if (meta.version !== version) return;
  const faultsOf = await openRules();
  for (const step of steps) {
    if (step.wanted === null) continue;
    const changed = new Set(step.changes.map(({ field }) => field.split(".")[0]));
    for (const { loc, msg, type } of await faultsOf(await creationOf(step.wanted))) {
      const path = loc.slice(1);
      const field = path[0]?.replace(/Id$/, "");
      if (step.operation === "change" && (!changed.has(field) || type === TYPED_SECRET)) continue;
      plan.faults.push(`${lineIn(step, path)}${nameOf(step)}: ${path.join(".")}: ${msg}.`);
    }
  }
}

interface Creation {
  path: string;
  body: JsonObject;
}

/** The request that would create a resource. */
async function creationOf({ noun, key, body }: Wanted): Promise<Creation> {
  let creation: Creation = { path: "", body: {} };
  const raw = (value: Json | undefined): Json => decoded(value ?? null, () => SOME_ID);
  const sender: Sender = {
    send: async () => ({}),
    async post(path, body) {
      creation = { path, body };
      return { id: SOME_ID, reply: { slug: key } };
    },
    raw,
    pick: (body, names) => Object.fromEntries(names.map((name) => [name, raw(body[name])])),
    idOf: () => SOME_ID,
  };
  await BY_NOUN[noun].create(sender, key, body);
  return creation;
}

/** Loads the rules of the operations, which takes a moment. */
async function openRules(): Promise<(creation: Creation) => Promise<Fault[]>> {
  const { executors } = await import("../../executors/registry.ts");
  const { providers } = await import("../../providers/registry.ts");
  const { read } = await import("../../base/shape.ts");
  const operations: readonly Operation[] = [
    ...(await import("../../resources/templates/routes.ts")).templateOperations,
    ...(await import("../../resources/connections/routes.ts")).connectionOperations,
    ...(await import("../../resources/api-catalog/routes.ts")).apiCatalogOperations,
    ...(await import("../../resources/agents/routes.ts")).agentOperations,
    ...(await import("../../resources/actions/routes.ts")).actionOperations,
    ...(await import("../../resources/automations/routes.ts")).automationOperations,
    ...(await import("../../resources/queries/routes.ts")).savedQueryOperations,
    ...(await import("../../resources/dashboards/routes.ts")).dashboardOperations,
    ...(await import("../../resources/webhooks/routes.ts")).webhookOperations,
  ];
  const app = { executors, providers, clock: systemClock } as unknown as App; // all that the rules read without a context
  return async ({ path, body }) => {
    const creation = operations.find((one) => one.method === "POST" && one.path === path);
    if (!creation?.body) return [];
    const { faults } = read(creation.body, body, ["body"]);
    const reported = new Set(faults.map(({ loc }) => loc.join()));
    const isOfTemplate = body.templateSlug !== undefined; // which is on the server
    const more = isOfTemplate ? [] : ((await creation.faults?.(app, body, null)) ?? []);
    return [...faults, ...more.filter(({ loc }) => !reported.has(loc.join()))];
  };
}
