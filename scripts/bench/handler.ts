/**
 * The peer: Weir's own handler without a database. The same server, checks, signature, parsing,
 * branch and response as for a webhook through Weir, but nothing is stored, so nothing is durable.
 */
import { Elysia } from "elysia";
import { systemClock } from "../../src/base/clock.ts";
import { systemIds } from "../../src/base/ids.ts";
import { isObject, parseJson } from "../../src/base/json.ts";
import { openLimiter } from "../../src/base/limit.ts";
import { openLog } from "../../src/base/log.ts";
import { openMemory } from "../../src/base/memory.ts";
import { silentTracer } from "../../src/base/trace.ts";
import { readConfig } from "../../src/config.ts";
import type { App } from "../../src/context.ts";
import { executors } from "../../src/executors/registry.ts";
import { readBytes } from "../../src/http/body.ts";
import { openFairness } from "../../src/http/fair.ts";
import { openOperation, Reply } from "../../src/http/operation.ts";
import { serve } from "../../src/http/serve.ts";
import { visitOf } from "../../src/http/visit.ts";
import { checkFilled, fillIn } from "../../src/queue/definition.ts";
import { checkAddress, checkRate, type Webhook } from "../../src/resources/inbound/gate.ts";
import { checkSender } from "../../src/resources/inbound/sender.ts";
import { BRANCH_AUTOMATION, SECRET } from "./weir.ts";

const { config } = readConfig({}, { WEIR_API_RATE: "off" }, {});
const app = {
  config,
  baseUrl: () => "http://127.0.0.1",
  clock: systemClock,
  ids: systemIds,
  log: openLog({ level: "error", pretty: false, clock: systemClock, sink: (line) => console.error(line) }),
  limiter: openLimiter(systemClock),
  tracer: silentTracer,
  memory: openMemory(),
  executors,
} as unknown as App;

const id = systemIds.uuid();
const organizationId = systemIds.uuid();
const hook: Webhook = {
  id,
  organizationId,
  config: BRANCH_AUTOMATION.config as Webhook["config"],
  version: 1,
  secret: SECRET,
  proof: null,
  needsTimestamp: false,
  hasSeenTimestamp: false,
  plan: "enterprise",
  webhookRate: { perMinute: 1_000_000, burst: 1_000_000 },
};

const webhook = openOperation({
  method: "POST",
  path: "/webhooks/{org_id}/{path}",
  audience: "signature",
  tag: "Webhooks in",
  summary: "Answers a webhook and forgets it",
  consumes: "application/json",
  async handle({ visit }) {
    const body = await readBytes(app, visit);
    checkAddress(hook, visit.address);
    checkSender(app, hook, { headers: visit.request.headers, body });
    checkRate(app, hook);
    const payload = parseJson(new TextDecoder().decode(body));
    const scope = {
      payload,
      headers: Object.fromEntries(visit.request.headers),
      query: {},
      steps: {},
      input: null,
    };
    const executor = executors.conditional_branch;
    const definition = hook.config.action?.definition;
    if (!executor?.decide || !isObject(definition ?? null))
      throw new Error("The benchmark's automation has no branch.");
    const filled = fillIn(executor, definition ?? {}, scope);
    const result = executor.decide(checkFilled(executor, filled), scope);
    return new Reply(200, {
      status: "processed",
      deliveryId: app.ids.uuid(),
      automationRunId: app.ids.uuid(),
      result,
    });
  },
});

const fairly = openFairness(app);
const server = new Elysia({ serve: { development: false } })
  .post(
    "/webhooks/:org_id/*",
    ({ request, params, server }) => {
      const visit = visitOf(app, request, server);
      return fairly(webhook, visit, () => serve(app, webhook, visit, params));
    },
    {
      parse: "none",
    },
  )
  .listen({ hostname: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ origin: `http://127.0.0.1:${server.server?.port}` }));
