import { sourceOf } from "../../base/cidr.ts";
import { AppError } from "../../base/errors.ts";
import type { App } from "../../context.ts";
import { identify } from "../../http/identity.ts";
import { openOperation, operation, Reply, type Visit } from "../../http/operation.ts";
import { eventStream } from "../../http/stream.ts";
import { requireScope } from "../access-tokens/scopes.ts";
import { hasUsers } from "../sign-in/setup.ts";
import { isOperator } from "../users/service.ts";
import { checkDeeply } from "./check.ts";
import { renderMetrics } from "./metrics.ts";
import { ticks } from "./smoke.ts";
import { DeepHealth, Health, HealthQuery, SimulatedError, SmokeQuery } from "./wire.ts";

const tag = "Health";

/** Response of a process that is stopping, so that no new requests are sent to it. */
const STOPPING = { status: "stopping" };

export const healthOperations = [
  openOperation({
    method: "GET",
    path: "/health",
    audience: "public",
    tag,
    summary: "Liveness check",
    description: "Doesn't use the database.",
    response: Health,
    replies: {
      503: { description: "The process is stopping.", body: Health, example: { status: "stopping" } },
    },
    example: { status: "ok" },
    handle: async ({ app }) => (app.stopping.aborted ? new Reply(503, STOPPING) : { status: "ok" }),
  }),
  openOperation({
    method: "GET",
    path: "/api/v1/health",
    audience: "public",
    tag,
    summary: "Health check",
    description:
      "With `deep`, tests a database write, the disk and the key. If one fails, the response is 503 with status `degraded`. Operators see the checks.",
    query: HealthQuery,
    response: DeepHealth,
    replies: {
      503: {
        description: "A check failed, or the process is stopping.",
        body: DeepHealth,
        example: { status: "degraded" },
      },
    },
    errors: [401, 403],
    example: { status: "ok" },
    async handle({ app, visit, query }) {
      if (app.stopping.aborted) return new Reply(503, STOPPING);
      if (!query.deep) return { status: "ok" };
      const [checks, caller] = [await checkDeeply(app), await rankOf(app, visit)];
      const isWell = Object.values(checks).every((check) => check.ok);
      const body = { status: isWell ? "ok" : "degraded", ...(caller === "operator" ? { checks } : {}) };
      return new Reply(isWell ? 200 : 503, body);
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/stream-smoke",
    audience: "any",
    tag,
    summary: "Test streaming",
    description: "Streams a tick at each interval, to check that proxies let streams through.",
    query: SmokeQuery,
    produces: "text/event-stream",
    handle: async ({ app, visit, query }) => eventStream(visit, (signal) => ticks(app, query, signal)),
  }),
  openOperation({
    method: "GET",
    path: "/api/observability/smoke",
    audience: "public",
    tag,
    summary: "Test logging",
    description: "Writes a line to the server log.",
    response: Health,
    errors: [403, 429],
    example: { status: "ok" },
    async handle({ app, visit }) {
      await admitProbe(app, visit);
      app.log.write("info", "observability smoke", { correlationId: visit.correlationId });
      return { status: "ok" };
    },
  }),
  openOperation({
    method: "POST",
    path: "/api/observability/simulate-llm-error",
    audience: "public",
    tag,
    summary: "Simulate a model error",
    description: "Logs a language model error, to test your monitoring.",
    response: SimulatedError,
    errors: [403, 429],
    example: {
      detail: "A failure of the language model was simulated; the log has it.",
      status: "simulated",
    },
    async handle({ app, visit }) {
      await admitProbe(app, visit);
      app.log.report(new AppError("upstream", "The language model didn't answer (simulated)."), {
        correlationId: visit.correlationId,
        simulated: true,
      });
      return {
        detail: "A failure of the language model was simulated; the log has it.",
        status: "simulated",
      };
    },
  }),
  openOperation({
    method: "GET",
    path: "/metrics",
    audience: "public",
    tag,
    summary: "Prometheus metrics",
    description:
      "In the Prometheus text format. For operators, and for requests from this machine to a loopback host name. With `WEIR_METRICS_PUBLIC=true`, for everyone.",
    produces: "text/plain",
    errors: [401, 403],
    async handle({ app, visit }) {
      await refuseBeforeSetup(app);
      const rank = await rankOf(app, visit);
      if (!app.config.metricsPublic) admitToMetrics(visit, rank);
      return new Reply(200, new Blob([await renderMetrics(app)]), {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
      });
    },
  }),
];

/** Rate limit of anonymous probes, per address. */
const PROBE_RATE = { perMinute: 30, burst: 10 };

/** Throws `forbidden` until Weir is set up, and `rate_limited`. */
async function admitProbe(app: App, { address }: Visit): Promise<void> {
  const { retryAfterSeconds } = app.limiter.take(`probe:${sourceOf(address)}`, PROBE_RATE);
  if (retryAfterSeconds > 0) {
    throw new AppError("rate_limited", `Too many requests. Try again in ${retryAfterSeconds} seconds.`, {
      retryAfterSeconds,
    });
  }
  await refuseBeforeSetup(app);
}

async function refuseBeforeSetup(app: App): Promise<void> {
  if (!(await hasUsers(app.store)))
    throw new AppError("forbidden", "Weir isn't set up yet. Open the setup link from the server log.");
}

type Rank = "nobody" | "person" | "operator";

/**
 * Returns who is asking: an anonymous client, a user or key, or an operator. Throws `unauthenticated` for an invalid
 * credential, and `scope_missing`.
 */
async function rankOf(app: App, visit: Visit): Promise<Rank> {
  const identity = await identify(app, visit.request.headers);
  if (!identity) return "nobody";
  if (!(await isOperator(app.store.db, identity.userId))) return "person";
  requireScope(identity, "read");
  return "operator";
}

function admitToMetrics(visit: Visit, rank: Rank): void {
  if (rank === "operator" || isLocal(visit)) return;
  if (rank === "nobody")
    throw new AppError(
      "unauthenticated",
      "Metrics require an operator's access token, except for requests from this machine to a loopback host name. To make them public, set WEIR_METRICS_PUBLIC=true.",
    );
  throw new AppError("forbidden", "Metrics need an operator of this installation.");
}

const FORWARDING = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];

/**
 * Returns whether the caller is on this machine. A request through a proxy on it isn't, nor is a page of a site whose
 * name resolves to this machine (DNS rebinding): its browser sends that name as the host.
 */
const isLocal = ({ address, request }: Visit) =>
  isLoopbackHost(address) &&
  isLoopbackHost(URL.parse(request.url)?.hostname ?? "") &&
  !FORWARDING.some((name) => request.headers.has(name));

const isLoopbackHost = (host: string) => /^(127\.\d+\.\d+\.\d+|\[?::1\]?|localhost)$/.test(host);
