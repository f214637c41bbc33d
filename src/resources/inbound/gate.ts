import { and, eq, isNull, sql } from "drizzle-orm";
import { contains, parseCidr, sourceOf } from "../../base/cidr.ts";
import { AppError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit.ts";
import type { Signals } from "../../base/signals.ts";
import type { App } from "../../context.ts";
import { PRESETS } from "../../crypto/presets.ts";
import { hmac, matchesSignature } from "../../crypto/signature.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { secretLabel } from "../automations/service.ts";
import { automations, HOOKS_TOPIC } from "../automations/table.ts";
import { organizations, type Plan, type WebhookRate } from "../organizations/table.ts";

/** The interface's section 8; an enterprise without a rate of its own has this one. */
export const PLAN_RATES: Readonly<Record<Plan, Rate>> = {
  free: { perMinute: 60, burst: 10 },
  pro: { perMinute: 300, burst: 50 },
  enterprise: { perMinute: 3000, burst: 500 },
};
/** Requests that were refused, by address, so that a forger can't keep us busy (decisions, section 8). */
const REFUSED_RATE: Rate = { perMinute: 600, burst: 600 };
/** A signed timestamp may be off by so much. */
const CLOCK_SKEW_SECONDS = 300;

const hookBy = (organization: typeof organizations.id | typeof organizations.slug) =>
  prepared((db: ReadDb) =>
    db
      .select({
        id: automations.id,
        organizationId: automations.organizationId,
        config: automations.config,
        version: automations.version,
        sealedSecret: automations.sealedSecret,
        plan: organizations.plan,
        webhookRate: organizations.webhookRate,
      })
      .from(automations)
      .innerJoin(organizations, eq(organizations.id, automations.organizationId))
      .where(
        and(
          eq(organization, sql.placeholder("organization")),
          eq(automations.webhookPath, sql.placeholder("path")),
          eq(automations.status, "active"),
          isNull(automations.deletedAt),
        ),
      )
      .prepare(),
  );

const hookById = hookBy(organizations.id);
const hookBySlug = hookBy(organizations.slug);

/** A webhook automation, as intake needs it. */
export interface Hook {
  id: string;
  organizationId: string;
  config: AutomationConfig;
  version: number;
  /** In clear: it never leaves the process. */
  secret: string;
  plan: Plan;
  webhookRate: WebhookRate | null;
}

/** Where another process could change a webhook, it is looked up each time. */
const HOOK_MAX_AGE_MS = 1_000;
const MAX_HOOKS = 1_000;

/** Webhooks as they were last looked up; all are forgotten as soon as any of them changes. */
interface HookCache {
  readonly hooks: Map<string, { hook: Hook; at: number }>;
  /** Grows with each forgetting, so that a look-up that began before it is not kept after it. */
  generation: number;
}

const caches = new WeakMap<Signals, HookCache>();

function cacheOf(app: App): HookCache {
  const known = caches.get(app.signals);
  if (known) return known;
  const cache: HookCache = { hooks: new Map(), generation: 0 };
  app.signals.listen(HOOKS_TOPIC, () => {
    cache.hooks.clear();
    cache.generation++;
  });
  caches.set(app.signals, cache);
  return cache;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * The webhook of an organization, by its id or slug; what reads like an id is never taken for a slug. Throws
 * `not_found`, with the same words for every cause.
 */
export async function findHook(app: App, named: string, path: string): Promise<Hook> {
  const organization = named.toLowerCase();
  const cache = cacheOf(app);
  const key = `${organization}/${path}`;
  const known = app.store.remote ? undefined : cache.hooks.get(key);
  const { generation } = cache;
  const now = app.clock.monotonic();
  if (known && now - known.at < HOOK_MAX_AGE_MS) return known.hook;
  const statement = UUID.test(organization) ? hookById : hookBySlug;
  const [row] = await statement(app.store.db).all({ organization, path });
  if (!row || row.sealedSecret === null)
    throw new AppError("not_found", "There is no active webhook at this address.");
  const { sealedSecret, config, ...rest } = row;
  const secret = app.secrets.open(sealedSecret, secretLabel(row));
  const hook: Hook = { ...rest, secret, config: config as AutomationConfig };
  if (cache.hooks.size >= MAX_HOOKS) cache.hooks.clear();
  if (cache.generation === generation) cache.hooks.set(key, { hook, at: now });
  return hook;
}

/** Throws `forbidden` for an address outside of `allowedIps`. */
export function checkAddress({ config }: Hook, address: string): void {
  const { allowedIps = [] } = config;
  if (allowedIps.length === 0) return;
  const allowed = allowedIps.some((text) => {
    const range = parseCidr(text);
    return range !== null && contains(range, address);
  });
  if (!allowed) throw new AppError("forbidden", "This address may not send to this webhook.");
}

/**
 * Checks the HMAC of the raw body; with `X-SVC-Timestamp` that of `{timestamp}.{body}`, and with a preset as its
 * sender makes it. Throws `unauthenticated`.
 */
export function checkSignature(app: App, hook: Hook, headers: Headers, body: Uint8Array): void {
  if (hook.config.signaturePreset !== undefined) {
    const { secret } = hook;
    const now = secondsNow(app);
    const fault = PRESETS[hook.config.signaturePreset].fault({ headers, body, secret, now });
    if (fault !== null) throw unsigned(fault);
    return;
  }
  const { signatureHeader = "X-SVC-Signature", signatureAlgorithm = "sha256" } = hook.config;
  const given = headers.get(signatureHeader);
  if (given === null) throw unsigned(`The request is not signed: it has no ${signatureHeader} header.`);
  const timestamp = headers.get("x-svc-timestamp");
  if (timestamp !== null && !isFresh(app, timestamp)) {
    throw unsigned(
      `X-SVC-Timestamp should be the time of sending in Unix seconds, at most ${CLOCK_SKEW_SECONDS} s off.`,
    );
  }
  const parts = timestamp === null ? [body] : [`${timestamp}.`, body];
  const expected = hmac(signatureAlgorithm, hook.secret, ...parts);
  if (!matchesSignature(given, expected, signatureAlgorithm)) {
    throw unsigned(`The signature in ${signatureHeader} does not fit the body and this webhook's secret.`);
  }
}

const unsigned = (message: string) => new AppError("unauthenticated", message);
const secondsNow = (app: App) => app.clock.now().getTime() / 1000;

function isFresh(app: App, timestamp: string): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  return Math.abs(secondsNow(app) - Number(timestamp)) <= CLOCK_SKEW_SECONDS;
}

/** Throws `rate_limited` when the organization's intake is used up. */
export function checkRate(app: App, hook: Hook): void {
  const rate = (hook.plan === "enterprise" ? hook.webhookRate : null) ?? PLAN_RATES[hook.plan];
  limit(app, `intake:${hook.organizationId}`, rate, "This organization's webhook rate is used up");
}

/** Counts a refused request against its address. Throws `rate_limited` when there were too many. */
export const countRefusal = (app: App, address: string): void =>
  limit(app, `refused:${sourceOf(address)}`, REFUSED_RATE, "Too many refused requests from this address");

function limit(app: App, key: string, rate: Rate, message: string): void {
  const { retryAfterSeconds } = app.limiter.take(key, rate);
  if (retryAfterSeconds > 0)
    throw new AppError("rate_limited", `${message}; try again in ${retryAfterSeconds} s.`, {
      retryAfterSeconds,
    });
}
