import { AppError } from "../../base/errors.ts";
import { isObject, parseJson } from "../../base/json.ts";
import { object, uuid } from "../../base/shape.ts";
import type { App } from "../../context.ts";
import { isSkipped } from "../../flows/concurrency.ts";
import { readBytes } from "../../http/body.ts";
import { openOperation, operation, Reply, type Visit } from "../../http/operation.ts";
import { type Answer, answerOf } from "./answer.ts";
import { findDelivery, listDeliveries } from "./deliveries.ts";
import { checkAddress, checkRate, countRefusal, findWebhook, type Webhook } from "./gate.ts";
import { type Accepted, accept, waitForRun } from "./intake.ts";
import { checkSender, type Stamp } from "./sender.ts";
import { refuseReplayed } from "./stamps.ts";
import { DeliveryPage, DeliveryQuery, WholeDelivery } from "./wire.ts";

const tag = "Webhooks in";

/** Runs the checks in order (docs/decisions/webhooks-in.md). */
async function admit(
  app: App,
  visit: Visit,
): Promise<{ webhook: Webhook; body: Uint8Array; stamp: Stamp | null }> {
  return counted(app, visit, async () => {
    const webhook = await findWebhook(app, ...targetOf(visit.url));
    const body = await readBytes(app, visit);
    checkAddress(webhook, visit.address);
    const stamp = checkSender(app, webhook, { headers: visit.request.headers, body });
    if (stamp !== null) await refuseReplayed(app, webhook, stamp, visit.request.headers);
    checkRate(app, webhook);
    return { webhook, body, stamp };
  });
}

/** Counts a rejection against the sender's address. */
async function counted<T>(app: App, visit: Visit, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError && error.code !== "rate_limited") countRefusal(app, visit.address);
    throw error;
  }
}

/** Organization and path of `/webhooks/{org_id}/{path}`. Empty, which matches nothing, if they can't be decoded. */
export function targetOf(url: URL, depth = 2): [organization: string, path: string] {
  const [organization = "", ...path] = url.pathname.split("/").slice(depth);
  try {
    return [decodeURIComponent(organization), path.map(decodeURIComponent).join("/")];
  } catch (error) {
    if (error instanceof URIError) return ["", ""];
    throw error;
  }
}

const toReply = ({ status, headers, body }: Answer) => new Reply(status, body, headers);

function replyTo({ deliveryId }: Accepted, run: Accepted["run"], correlationId: string): Reply {
  const ids = { deliveryId, automationRunId: run.id };
  if (isSkipped(run)) return new Reply(200, { status: "processed", ...ids, result: null });
  if (run.status === "completed") return new Reply(200, { status: "processed", ...ids, result: run.result });
  if (run.completedAt === null) return new Reply(202, { status: "processing", ...ids });
  const detail = run.error?.message ?? "The run was cancelled.";
  return new Reply(500, {
    status: "failed",
    detail,
    code: run.error?.code ?? run.status,
    correlationId,
    ...ids,
  });
}

const goingDown = () =>
  new AppError("unavailable", "This server is stopping. Send it again in a few seconds.", {
    retryable: true,
    retryAfterSeconds: 5,
  });

const MAX_CHALLENGE_BYTES = 64 * 1024;

/** Returns the challenge that Slack sends to a new URL, which has to be echoed. Null for all other requests. */
function challengeIn(body: Uint8Array): string | null {
  if (body.length > MAX_CHALLENGE_BYTES) return null;
  const text = new TextDecoder().decode(body);
  if (!text.startsWith("{")) return null;
  const payload = parseJson(text);
  return isObject(payload) && payload.type === "url_verification" && typeof payload.challenge === "string"
    ? payload.challenge
    : null;
}

/** For examples. */
const IDS = {
  deliveryId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  automationRunId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c",
};

export const inboundOperations = [
  openOperation({
    method: "POST",
    path: "/webhooks/{org_id}/{path}",
    audience: "signature",
    tag,
    summary: "Receive a webhook",
    description:
      "Starts a run of its automation. The signature is an HMAC of `{timestamp}.{body}` with the automation's secret and the Unix time in `X-SVC-Timestamp`, and is accepted once. If `requireTimestamp` is false, it can be an HMAC of the raw body. With a `signaturePreset`, it is the signature that GitHub, GitLab, Stripe, Shopify, Slack, Telegram, Svix or Standard Webhooks send; with `auth`, a bearer token, basic authentication, a header, or an Ed25519 signature. The body can be JSON, form fields or text; other bytes are a payload `{fileName, mimeType, data}` in base64, as files of a form are. A repeat with the same `Idempotency-Key`, `webhook-id` or delivery ID of the preset's sender within 24 hours starts nothing, and its response has the current state of the first delivery. Slack's `url_verification` gets its challenge as the response.",
    consumes: "application/json",
    bodyExample: { order: { id: 1042, total: "19.90" } },
    replies: {
      200: {
        description: "The run has completed.",
        example: { status: "processed", ...IDS, result: { rows: 3 } },
      },
      202: { description: "The run is still in progress.", example: { status: "processing", ...IDS } },
      500: {
        description: "The run has failed.",
        example: {
          status: "failed",
          detail: "The server refused the connection.",
          code: "upstream",
          correlationId: IDS.deliveryId,
          ...IDS,
        },
      },
    },
    errors: [401, 403, 404, 413, 415, 429, 503],
    async handle({ app, visit }) {
      if (app.stopping.aborted) throw goingDown();
      const { webhook, body, stamp } = await admit(app, visit);
      const challenge = webhook.config.signaturePreset === "slack" ? challengeIn(body) : null;
      if (challenge !== null) return { challenge };
      const accepted = await accept(app, webhook, {
        headers: visit.request.headers,
        url: visit.url,
        body,
        stamp,
        address: visit.address,
        correlationId: visit.correlationId,
      });
      const run = await waitForRun(app, webhook, accepted, visit.request.signal);
      if (run.status === "completed" && webhook.config.response !== undefined && !isSkipped(run))
        return toReply(await answerOf(app, webhook, { ...accepted, run }));
      return replyTo(accepted, run, run.correlationId);
    },
  }),
  operation({
    method: "GET",
    path: "/api/v1/webhook-deliveries",
    audience: "viewer",
    tag,
    summary: "List incoming deliveries",
    description: "The webhook requests that were accepted, newest first.",
    query: DeliveryQuery,
    response: DeliveryPage,
    handle: ({ ctx, query }) => listDeliveries(ctx, query),
  }),
  operation({
    method: "GET",
    path: "/api/v1/webhook-deliveries/{delivery_id}",
    audience: "viewer",
    tag,
    summary: "Get an incoming delivery",
    description: "With its attempts, and its payload if that is still stored.",
    params: object({ delivery_id: uuid() }),
    response: WholeDelivery,
    handle: ({ ctx, params }) => findDelivery(ctx, params.delivery_id),
  }),
];
