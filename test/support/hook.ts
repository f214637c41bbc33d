import { createHmac } from "node:crypto";
import type { Answer } from "./app.ts";
import { client, type startApp } from "./app.ts";
import { created } from "./work.ts";

type Started = Awaited<ReturnType<typeof startApp>>;

export const SECRET = "inbound-secret-1";

/**
 * Creates a webhook automation. `config` without secret and path gets those of the tests, and needs no timestamps.
 * Its sender waits as long as possible, so that a slow run is answered too.
 */
export async function makeHook({ owner }: Started, config: object, more: object = {}) {
  const isPlain = !("signaturePreset" in config) && !("auth" in config);
  const body = {
    name: "Hook",
    triggerType: "webhook",
    config: {
      path: "orders",
      secret: SECRET,
      waitSeconds: 30,
      ...(isPlain ? { requireTimestamp: false } : {}),
      ...config,
    },
    ...more,
  };
  return created(await owner("POST", "/api/v1/automations", body));
}

export const sign = (body: string, secret = SECRET, algorithm = "sha256") =>
  createHmac(algorithm, secret).update(body).digest("hex");

/** The headers of JSON that is signed over time and body, as new webhooks require. `now` in milliseconds. */
export function stamped(body: string, secret = SECRET, now = Date.now()): Record<string, string> {
  const at = String(Math.floor(now / 1000));
  return {
    "content-type": "application/json",
    "x-svc-timestamp": at,
    "x-svc-signature": `sha256=${sign(`${at}.${body}`, secret)}`,
  };
}

/** Sends like an external sender: JSON, signed. Headers replace those; an empty one is left out. */
export function send(
  app: Started,
  body: string,
  headers: Record<string, string> = {},
  path = `/webhooks/acme/orders`,
): Promise<Answer> {
  const all = { "content-type": "application/json", "x-svc-signature": `sha256=${sign(body)}`, ...headers };
  const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
  return client(app.origin)("POST", path, Buffer.from(body), kept);
}
