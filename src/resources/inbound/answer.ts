import { AppError } from "../../base/errors.ts";
import { fieldFault } from "../../base/http-message.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { fill } from "../../compute/fill.ts";
import type { App } from "../../context.ts";
import { seenByAll } from "../../flows/scope.ts";
import type { Webhook } from "./gate.ts";
import type { Answerable } from "./intake.ts";

/** A page in a response can't run scripts or read anything of this server. */
const CONFINED = {
  "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
  "X-Content-Type-Options": "nosniff",
};

/** Response to the sender. `body` is JSON unless it is a Blob. Null for none. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Blob | JsonObject | null;
}

/** Renders the automation's `response` for a completed run. If that fails, a 500 with the reason. */
export async function answerOf(app: App, webhook: Webhook, accepted: Answerable): Promise<Answer> {
  const { run, deliveryId } = accepted;
  const warn = (message: string, { code, message: detail }: AppError) =>
    app.log.write("warn", message, { automationId: webhook.id, deliveryId, code, detail });
  try {
    const { headers = {}, ...definition } = await filled(app, webhook, accepted);
    const sound = Object.entries(isObject(headers) ? headers : {}).filter(([name]) => {
      const fault = fieldFault(name);
      if (fault) warn("webhook response header left out", new AppError("template_error", fault));
      return fault === null;
    });
    return replyOf(definition, sound);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal") throw error;
    warn("webhook response failed", error);
    const detail = `The run completed, but its response couldn't be created: ${error.message}`;
    const ids = { correlationId: run.correlationId, deliveryId, automationRunId: run.id };
    return { status: 500, headers: {}, body: { status: "failed", detail, code: error.code, ...ids } };
  }
}

async function filled(app: App, webhook: Webhook, { run, trigger }: Answerable): Promise<JsonObject> {
  const definition = (webhook.config.response ?? {}) as JsonObject;
  const { organizationId } = webhook;
  const seen = await seenByAll({ ...app, db: app.store.db }, { ...run, scope: trigger }, definition);
  return fill(app.compute, { definition, options: {} }, seen, { organizationId, signal: app.closing });
}

function replyOf({ status = 200, body }: JsonObject, headers: readonly [string, Json][]): Answer {
  const code = Number(status);
  if (!Number.isInteger(code) || code < 200 || code > 599)
    throw new AppError(
      "template_error",
      `Invalid response.status: ${JSON.stringify(status)}. Use a status from 200 to 599.`,
    );
  const replyHeaders: Record<string, string> = {};
  for (const [name, value] of headers) replyHeaders[name.toLowerCase()] = textOf(name, value);
  if (body === undefined || [204, 205, 304].includes(code))
    return { status: code, headers: { ...replyHeaders, ...CONFINED }, body: null };
  const isText = typeof body === "string";
  const type = replyHeaders["content-type"] ?? (isText ? "text/plain; charset=utf-8" : "application/json");
  const content = new Blob([isText ? body : JSON.stringify(body)], { type });
  return { status: code, headers: { ...replyHeaders, "content-type": type, ...CONFINED }, body: content };
}

function textOf(name: string, value: Json): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (/[^\t\x20-\x7e\x80-\xff]/.test(text))
    throw new AppError(
      "template_error",
      `response.headers.${name} contains characters that aren't allowed, such as a line break. Use url.encode(…).`,
    );
  return text;
}
