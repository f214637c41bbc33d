import type { Fault } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/json.ts";
import { faultsOfTypes } from "../events/matching.ts";

/** Returns what is wrong with a subscription's URL and event types beyond their shape. */
export function webhookFaults(raw: Json): Fault[] {
  if (!isObject(raw)) return [];
  const { url, events } = raw;
  const fault = typeof url === "string" && url !== "" ? urlFault(url) : null;
  return [
    ...(fault === null ? [] : [{ loc: ["body", "url"], msg: fault, type: "url_parsing" }]),
    ...(Array.isArray(events) ? events : [])
      .slice(0, 100)
      .flatMap((pattern, index) =>
        typeof pattern === "string" && pattern !== ""
          ? faultsOfTypes(pattern, ["body", "events", String(index)])
          : [],
      ),
  ];
}

function urlFault(text: string): string | null {
  const url = /^https?:\/\/\S+$/i.test(text) ? URL.parse(text) : null;
  if (url === null) return "Input should be a URL that starts with http:// or https://";
  return url.username || url.password ? "URL must not contain a username or password" : null;
}
