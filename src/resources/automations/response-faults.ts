import type { Fault } from "../../base/errors.ts";
import { fieldFault } from "../../base/http-message.ts";
import type { Json } from "../../base/json.ts";
import { isWholeTemplate, templateFaults } from "../../base/template.ts";
import type { App } from "../../context.ts";
import type { AutomationConfig, Step } from "./config.ts";
import { readFaults } from "./step-reads.ts";

/** Headers that the server sets itself, or that affect more than this response. */
const OWN_HEADERS = [
  "clear-site-data",
  "connection",
  "content-length",
  "content-security-policy",
  "keep-alive",
  "service-worker-allowed",
  "set-cookie",
  "strict-transport-security",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-content-type-options",
  "x-correlation-id",
];

/** Returns what is wrong with the response of a webhook. Its reads of steps aren't checked if `steps` is null. */
export function responseFaults(
  app: Pick<App, "executors">,
  response: NonNullable<AutomationConfig["response"]>,
  steps: readonly Step[] | null,
  loc: readonly string[],
): Fault[] {
  const { status, headers = {} } = response;
  const faults: Fault[] = templateFaults(response as Json).map(({ path, message }) => ({
    loc: [...loc, ...path],
    msg: message,
    type: "template_error",
  }));
  const fail = (field: string[], msg: string) =>
    faults.push({ loc: [...loc, ...field], msg, type: "value_error" });
  if (typeof status === "string" && !isWholeTemplate(status))
    fail(["status"], "Give a status from 200 to 599, or one template that returns one");
  for (const [name, value] of Object.entries(headers)) {
    const isOwn = OWN_HEADERS.includes(name.toLowerCase());
    const fault = isOwn ? `The server sets ${name} itself; leave it out` : fieldFault(name, value);
    if (fault) fail(["headers", name], fault);
  }
  return steps ? [...faults, ...readFaults(app, response as Json, steps, loc)] : faults;
}
