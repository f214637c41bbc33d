import { Elysia } from "elysia";
import { AppError } from "./base/errors.ts";
import { basePathOf } from "./config.ts";
import type { App } from "./context.ts";
import { openFairness } from "./http/fair.ts";
import type { Operation, Visit } from "./http/operation.ts";
import { problemResponse, serve } from "./http/serve.ts";
import { traceRequest } from "./http/trace.ts";
import { siblingsOf } from "./http/versions.ts";
import { visitOf } from "./http/visit.ts";
import { webReply } from "./http/web.ts";
import { accessTokenOperations } from "./resources/access-tokens/routes.ts";
import { actionOperations } from "./resources/actions/routes.ts";
import { agentOperations } from "./resources/agents/routes.ts";
import { apiCatalogOperations } from "./resources/api-catalog/routes.ts";
import { apiKeyOperations } from "./resources/api-keys/routes.ts";
import { approvalOperations } from "./resources/approvals/routes.ts";
import { artifactOperations } from "./resources/artifacts/routes.ts";
import { automationOperations } from "./resources/automations/routes.ts";
import { bundleOperations } from "./resources/bundles/routes.ts";
import { catalogSignInOperations } from "./resources/catalog-sign-ins/routes.ts";
import { catalogTemplateOperations } from "./resources/catalog-templates/routes.ts";
import { chatOperations } from "./resources/chat/routes.ts";
import { clientAuthorizationPageOperations } from "./resources/client-authorizations/page.ts";
import { clientAuthorizationOperations } from "./resources/client-authorizations/routes.ts";
import { connectionSignInOperations } from "./resources/connection-sign-ins/routes.ts";
import { connectionOperations } from "./resources/connections/routes.ts";
import { unsubscribePageOperations } from "./resources/dashboard-subscriptions/page.ts";
import { subscriptionOperations } from "./resources/dashboard-subscriptions/routes.ts";
import { dashboardOperations } from "./resources/dashboards/routes.ts";
import { datasetLoadOperations } from "./resources/dataset-loads/routes.ts";
import { datasetOperations } from "./resources/datasets/routes.ts";
import { deadLetterOperations } from "./resources/dead-letters/routes.ts";
import { decisionOperations } from "./resources/decisions/routes.ts";
import { deviceOperations } from "./resources/device/routes.ts";
import { automationDraftOperations } from "./resources/drafts/routes.ts";
import { eventOperations } from "./resources/events/routes.ts";
import { expressionOperations } from "./resources/expressions/routes.ts";
import { formOperations } from "./resources/forms/routes.ts";
import { countRequest } from "./resources/health/requests.ts";
import { healthOperations } from "./resources/health/routes.ts";
import { icebergOperations } from "./resources/iceberg/routes.ts";
import { inboundOperations } from "./resources/inbound/routes.ts";
import { installationOperations } from "./resources/installation/routes.ts";
import { invitePageOperations } from "./resources/invitations/page.ts";
import { invitationOperations } from "./resources/invitations/routes.ts";
import { lineageOperations } from "./resources/lineage/routes.ts";
import { mcpOperations } from "./resources/mcp/routes.ts";
import { metaOperations } from "./resources/meta/routes.ts";
import { noticeOperations } from "./resources/notices/routes.ts";
import { openApiOperations } from "./resources/openapi/routes.ts";
import { openIdOperations } from "./resources/openid/routes.ts";
import { organizationExportOperations } from "./resources/organization-export/routes.ts";
import { organizationTokenOperations } from "./resources/organization-tokens/routes.ts";
import { organizationOperations } from "./resources/organizations/routes.ts";
import { overviewOperations } from "./resources/overview/routes.ts";
import { passwordResetPageOperations } from "./resources/password-reset/page.ts";
import { passwordResetOperations } from "./resources/password-reset/routes.ts";
import { personalDataOperations } from "./resources/personal-data/routes.ts";
import { savedQueryOperations } from "./resources/queries/routes.ts";
import { queryOperations } from "./resources/query/routes.ts";
import { runOperations } from "./resources/runs/routes.ts";
import { secondFactorOperations } from "./resources/second-factor/routes.ts";
import { sessionOperations } from "./resources/sessions/routes.ts";
import { signInPageOperations } from "./resources/sign-in/page.ts";
import { signInOperations } from "./resources/sign-in/routes.ts";
import { slackOperations } from "./resources/slack/routes.ts";
import { syncOperations } from "./resources/sync/routes.ts";
import { tagOperations } from "./resources/tags/routes.ts";
import { templateOperations } from "./resources/templates/routes.ts";
import { userOperations } from "./resources/users/routes.ts";
import { versionOperations } from "./resources/versions/routes.ts";
import { webhookOperations } from "./resources/webhooks/routes.ts";

const described = [
  ...healthOperations,
  ...metaOperations,
  ...signInOperations,
  ...openIdOperations,
  ...deviceOperations,
  ...clientAuthorizationOperations,
  ...passwordResetOperations,
  ...userOperations,
  ...noticeOperations,
  ...secondFactorOperations,
  ...organizationTokenOperations,
  ...personalDataOperations,
  ...organizationOperations,
  ...organizationExportOperations,
  ...installationOperations,
  ...invitationOperations,
  ...sessionOperations,
  ...accessTokenOperations,
  ...apiKeyOperations,
  ...connectionOperations,
  ...apiCatalogOperations,
  ...catalogSignInOperations,
  ...catalogTemplateOperations,
  ...connectionSignInOperations,
  ...mcpOperations,
  ...slackOperations,
  ...templateOperations,
  ...bundleOperations,
  ...actionOperations,
  ...runOperations,
  ...automationOperations,
  ...automationDraftOperations,
  ...approvalOperations,
  ...decisionOperations,
  ...inboundOperations,
  ...formOperations,
  ...webhookOperations,
  ...deadLetterOperations,
  ...agentOperations,
  ...versionOperations,
  ...chatOperations,
  ...artifactOperations,
  ...datasetOperations,
  ...datasetLoadOperations,
  ...lineageOperations,
  ...icebergOperations,
  ...overviewOperations,
  ...tagOperations,
  ...expressionOperations,
  ...queryOperations,
  ...savedQueryOperations,
  ...dashboardOperations,
  ...subscriptionOperations,
  ...syncOperations,
  ...eventOperations,
];

/** All HTTP operations. */
export const operations: readonly Operation[] = [
  ...described,
  ...signInPageOperations,
  ...clientAuthorizationPageOperations,
  ...passwordResetPageOperations,
  ...unsubscribePageOperations,
  ...invitePageOperations,
  ...openApiOperations(() => operations),
];

/** Path, input and response types of every operation, for clients. */
export type Served = NonNullable<(typeof described)[number]["~types"]>;

/** `{method, path}` of every operation, with paths as in the interface. */
export const mountedRoutes = (): { method: string; path: string }[] =>
  operations.map(({ method, path }) => ({ method, path }));

/** Uploads are the largest bodies. Other operations have lower limits of their own. */
const MAX_REQUEST_BYTES = 1024 ** 3 + 1024 ** 2;
/** Seconds that a connection can be silent. Streams request more. */
const IDLE_SECONDS = 60;

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** A server for `app` with these operations, not listening yet. */
export function server(app: App, served: readonly Operation[] = operations) {
  const base = basePathOf(app.config);
  const router = routerBelow(base);
  const answer = openAnswer(app);
  const routes: Record<string, Record<string, Bun.Serve.Handler<Bun.BunRequest, Peer, Response>>> = {};
  const refuse = (request: Request, peer: Peer) => {
    arrivals.set(request, { app, peer, answer });
    return refused(request, null);
  };
  // otherwise, GET /api-catalog/discover would be GET /api-catalog/{api_id}
  const others = Object.fromEntries(METHODS.map((method) => [method, refuse]));
  for (const operation of served) {
    for (const pattern of patternsOf(operation, base)) {
      if (pattern.endsWith("*")) continue; // Bun doesn't pass the part that `*` matches
      routes[pattern] = {
        ...(routes[pattern] ?? others),
        [operation.method]: (request, peer) => answer(operation, request, peer, request.params),
      };
    }
  }
  return {
    listen: (options: Bun.Serve.HostnamePortServeOptions<undefined>): Peer =>
      Bun.serve({
        maxRequestBodySize: MAX_REQUEST_BYTES,
        idleTimeout: IDLE_SECONDS,
        development: false,
        ...options,
        routes,
        fetch(request, peer) {
          arrivals.set(request, { app, peer, answer });
          return router.fetch(request);
        },
      }),
  };
}

type Peer = Bun.Server<undefined>;

interface Arrival {
  app: App;
  peer: Peer;
  answer: Answer;
}

/** The server that received a request for the router, which all servers of the process share. */
const arrivals = new WeakMap<Request, Arrival>();

function arrivalOf(request: Request): Arrival {
  const arrival = arrivals.get(request);
  if (!arrival) throw new AppError("internal", "A request without a server.");
  return arrival;
}

type Answer = (
  operation: Operation,
  request: Request,
  peer: Peer,
  params: Record<string, string>,
) => Promise<Response>;

function openAnswer(app: App): Answer {
  const siblings = siblingsOf(operations);
  const fairly = openFairness(app);
  return async (operation, request, peer, params) => {
    const visit = visitOf(app, request, peer);
    const startMs = app.tracer.isOn ? app.clock.now().getTime() : 0;
    const cameMs = app.clock.monotonic();
    try {
      const reply = await fairly(operation, visit, () => serve(app, operation, visit, params, siblings));
      countRequest(app, operation.method, operation.path, reply.status, cameMs);
      traceRequest(app, operation, visit, startMs, reply.status);
      return reply;
    } catch (error) {
      return problemResponse(app, error, visit, operation.iceberg !== undefined);
    }
  };
}

/** By base path. */
const routers = new Map<string, Pick<Elysia, "fetch">>();

/** Handles what Bun's own routes don't: wildcard paths, HEAD, trailing slashes and unknown paths. */
function routerBelow(base: string): Pick<Elysia, "fetch"> {
  const made = routers.get(base);
  if (made) return made;
  const router = new Elysia({
    handler: { standardHostname: false }, // otherwise the router looks up http://api/… without its first segment
  });
  const refuse = ({ request }: { request: Request }) => refused(request, null);
  for (const operation of operations) {
    const handler = ({ request, params }: { request: Request; params: Record<string, string> }) => {
      const { answer, peer } = arrivalOf(request);
      return answer(operation, request, peer, params);
    };
    for (const pattern of patternsOf(operation, base)) {
      router.route(operation.method, pattern, handler as never, { parse: "none" } as never);
    }
  }
  for (const { path, methods } of places) {
    for (const method of METHODS.filter((each) => !methods.includes(each)))
      for (const pattern of patternsOf({ path }, base))
        router.route(method, pattern, refuse, { parse: "none" } as never);
  }
  router.onError(({ request, error, code }) => refused(request, code === "NOT_FOUND" ? null : error));
  routers.set(base, router);
  return router;
}

/** With and without the base path: a proxy can strip it or pass it on. */
const patternsOf = ({ path }: Pick<Operation, "path">, base: string): string[] =>
  (base === "" ? [""] : ["", base]).map((before) => before + toPattern(path));

/** Known paths. `{` sorts after letters, so `/actions/slug/{slug}` comes before `/actions/{action_id}/run`. */
const places = [...Map.groupBy(operations, ({ path }) => path)]
  .map(([path, own]) => ({ path, methods: own.map(({ method }) => method), matcher: toMatcher(path) }))
  .sort((a, b) => (a.path < b.path ? -1 : 1));

/** Response to a request that failed or matches no operation. */
async function refused(request: Request, error: unknown): Promise<Response> {
  const { app, peer } = arrivalOf(request);
  const visit = visitOf(app, request, peer);
  if (error !== null) return problemResponse(app, error, visit);
  const { pathname } = visit.url;
  if (pathname.startsWith("/iceberg/")) return noCatalog(app, visit);
  const found = places.find(({ matcher }) => matcher.test(pathname))?.methods ?? [];
  const isForm = pathname.startsWith("/f/") && found.length > 0; // a form is posted to the URL of its page
  const methods = isForm ? ["GET", ...found] : found;
  if (methods.length === 0 || isForm) {
    const page = await webReply(app, visit).catch((fault) => problemResponse(app, fault, visit));
    if (page) return page;
  }
  if (methods.length === 0) {
    return problemResponse(app, new AppError("not_found", `${pathname.slice(0, 200)} not found.`), visit);
  }
  const reply = problemResponse(
    app,
    new AppError("method_not_allowed", `Method ${request.method} isn't allowed. Use ${methods.join(", ")}.`),
    visit,
  );
  const allowed = methods.includes("GET") ? [...methods, "HEAD"] : methods;
  reply.headers.set("allow", [...new Set(allowed)].join(", "));
  return reply;
}

/** The Iceberg catalog has no pages and is read-only. */
function noCatalog(app: App, visit: Visit): Response {
  const isRead = ["GET", "HEAD"].includes(visit.request.method);
  const error = isRead
    ? new AppError("not_found", `${visit.url.pathname.slice(0, 200)} not found.`)
    : new AppError("method_not_allowed", "This catalog is read-only. Load data with runs of Weir.");
  return problemResponse(app, error, visit, true);
}

/** `{id}` → `:id`. A final `{path}` matches the rest, including slashes. */
const toPattern = (path: string) => path.replace(/\{path\}$/, "*").replace(/\{(\w+)\}/g, ":$1");

function toMatcher(path: string): RegExp {
  const pattern = path
    .replace(/[.]/g, "\\.")
    .replace(/\{path\}$/, ".+")
    .replace(/\{\w+\}/g, "[^/]+");
  return new RegExp(`^${pattern}/?$`);
}
