import { Type } from "@sinclair/typebox";
import { sourceOf } from "../../base/cidr.ts";
import { AppError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit.ts";
import { jsonObject, nullable, object, oneOf } from "../../base/shape.ts";
import { type App, type Context, contextFor } from "../../context.ts";
import { readBytes } from "../../http/body.ts";
import { actorOf, enter, identify } from "../../http/identity.ts";
import { openOperation, Reply, type Visit } from "../../http/operation.ts";
import { isSameOrigin } from "../../http/origin.ts";
import { version } from "../../version.ts";
import { requireScope } from "../access-tokens/scopes.ts";
import type { FormTrigger } from "../automations/config.ts";
import { answerOf } from "../inbound/answer.ts";
import { checkRate, findWebhook, type Webhook } from "../inbound/gate.ts";
import { waitForRun } from "../inbound/intake.ts";
import { payloadOf, queryOf } from "../inbound/payload.ts";
import { targetOf } from "../inbound/routes.ts";
import { submit } from "./submit.ts";

const tag = "Forms";

/** Rate limit for answers to public forms, per address. */
const PUBLIC_RATE: Rate = { perMinute: 20, burst: 10 };

const Form = object({
  title: Type.String(),
  description: nullable(Type.String()),
  schema: jsonObject(),
  submitLabel: nullable(Type.String()),
  access: oneOf(["signed_in", "public"]),
});

const formOf = ({ config }: Webhook) => config.form as FormTrigger;
const isPublic = (form: Webhook): boolean => formOf(form).access === "public";

interface Entered {
  ctx: Context;
  /** Null for an API key, and for an anonymous visitor of a public form. */
  person: { userId: string; email: string | null } | null;
}

/**
 * Returns who answers: anyone at a public form, otherwise a member of the organization. Throws `unauthenticated`,
 * `forbidden`, `csrf`, `scope_missing`.
 */
async function enterForm(app: App, visit: Visit, form: Webhook): Promise<Entered> {
  const { organizationId } = form;
  const { address, correlationId, userAgent } = visit;
  if (isPublic(form)) {
    const actor = { type: "system", id: "form", process: "weir", version, ip: address } as const;
    return { ctx: contextFor(app, { organizationId, role: "member", actor, correlationId }), person: null };
  }
  const identity = await identify(app, visit.request.headers);
  if (!identity) throw new AppError("unauthenticated", "Sign in to fill in this form.");
  if (identity.carrier === "cookie" && visit.request.method !== "GET" && !isSameOrigin(app, visit))
    throw new AppError(
      "csrf",
      "With the session cookie, a form can only be submitted from Weir's own pages.",
    );
  await enter(app, identity, organizationId);
  if (visit.request.method !== "GET") requireScope(identity, "run");
  const { userId, email } = identity;
  return {
    ctx: contextFor(app, {
      organizationId,
      role: "member",
      actor: actorOf(identity, address, userAgent),
      correlationId,
      scopes: identity.scopes,
    }),
    person: identity.kind === "api_key" ? null : { userId, email },
  };
}

function limitPublic(app: App, visit: Visit): void {
  const { retryAfterSeconds } = app.limiter.take(`form:${sourceOf(visit.address)}`, PUBLIC_RATE);
  if (retryAfterSeconds > 0)
    throw new AppError(
      "rate_limited",
      `Too many submissions from this IP address. Try again in ${retryAfterSeconds} seconds.`,
      {
        retryAfterSeconds,
      },
    );
}

export const formOperations = [
  openOperation({
    method: "GET",
    path: "/api/v1/forms/{org_id}/{path}",
    audience: "public",
    tag,
    summary: "Get a form",
    description: "If the form's access is `signed_in`, only members of the organization see it.",
    response: Form,
    errors: [401, 403, 404],
    async handle({ app, visit }) {
      const form = await findWebhook(app, ...targetOf(visit.url, 4), "form");
      await enterForm(app, visit, form);
      const { title, description = null, schema, submitLabel = null, access = "signed_in" } = formOf(form);
      return { title, description, schema, submitLabel, access };
    },
  }),
  openOperation({
    method: "POST",
    path: "/f/{org_id}/{path}",
    audience: "public",
    ownPagesOnly: false, // A public form takes no credentials, and can be embedded in any site.
    tag,
    summary: "Submit a form",
    description:
      "Starts a run of the form's automation. Accepts JSON or form fields, validates them against the form's `schema` and passes them to the run as `payload`. If the automation's config has a `response`, the reply is that response if the run completes in time.",
    consumes: "application/json",
    bodyExample: { name: "Ann", days: 3 },
    replies: {
      202: {
        description: "The answers are stored, and a run has started.",
        example: {
          status: "processing",
          deliveryId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
          automationRunId: "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c",
        },
      },
    },
    errors: [401, 403, 404, 413, 415, 422, 429, 503],
    async handle({ app, visit }) {
      const form = await findWebhook(app, ...targetOf(visit.url, 2), "form");
      if (isPublic(form)) limitPublic(app, visit);
      const { ctx, person } = await enterForm(app, visit, form);
      checkRate(app, form);
      const { headers } = visit.request;
      const body = await readBytes(app, visit);
      const accepted = await submit(ctx, form, {
        answers: await payloadOf({ headers, body }),
        isText: /^(multipart\/form-data|application\/x-www-form-urlencoded)/i.test(
          headers.get("content-type") ?? "",
        ),
        headers,
        query: queryOf(visit.url),
        address: visit.address,
        person,
      });
      const ids = { deliveryId: accepted.deliveryId, automationRunId: accepted.run.id };
      if (form.config.response === undefined) return new Reply(202, { status: "processing", ...ids });
      const run = await waitForRun(app, form, accepted, visit.request.signal);
      if (run.status === "completed") {
        const answer = await answerOf(app, form, { ...accepted, run });
        return new Reply(answer.status, answer.body, answer.headers);
      }
      if (run.completedAt === null) return new Reply(202, { status: "processing", ...ids });
      const detail = "The form was accepted, but its run failed.";
      return new Reply(500, {
        status: "failed",
        detail,
        code: "failed",
        correlationId: run.correlationId,
        ...ids,
      });
    },
  }),
];
