import { and, eq, isNull, sql } from "drizzle-orm";
import { contains, parseCidr, sourceOf } from "../../base/cidr.ts";
import { AppError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit.ts";
import type { Signals } from "../../base/signals.ts";
import type { App } from "../../context.ts";
import { prepared } from "../../store/prepared.ts";
import type { ReadDb } from "../../store/store.ts";
import type { AutomationConfig } from "../automations/config.ts";
import { authLabel, needsTimestamp } from "../automations/sender.ts";
import { automations, HOOKS_TOPIC, secretLabel } from "../automations/table.ts";
import { organizations, type Plan, type WebhookRate } from "../organizations/table.ts";

/** Requests a minute and at once; an enterprise without a rate of its own has this one. */
export const PLAN_RATES: Readonly<Record<Plan, Rate>> = {
  free: { perMinute: 60, burst: 10 },
  pro: { perMinute: 300, burst: 50 },
  enterprise: { perMinute: 3000, burst: 500 },
};
/** Requests that were refused, by address, so that a forger can't keep us busy (docs/decisions/webhooks-in.md). */
const REFUSED_RATE: Rate = { perMinute: 600, burst: 600 };

const hookBy = (organization: typeof organizations.id | typeof organizations.slug) =>
  prepared((db: ReadDb) =>
    db
      .select({
        id: automations.id,
        organizationId: automations.organizationId,
        config: automations.config,
        version: automations.version,
        sealedSecret: automations.sealedSecret,
        sealedAuth: automations.sealedAuth,
        timestampRule: automations.timestampRule,
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
          isNull(organizations.removedAt),
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
  /** What requests are signed with, in clear: it never leaves the process. Null where nothing is signed. */
  secret: string | null;
  /** What the sender sends along by `config.auth`, in clear; null where it signs. */
  proof: string | null;
  /** True where a signed request without a timestamp is refused. */
  needsTimestamp: boolean;
  /** True once a request with a timestamp has come. */
  hasSeenTimestamp: boolean;
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
  if (!row) throw new AppError("not_found", "There is no active webhook at this address.");
  const { sealedSecret, sealedAuth, timestampRule, ...rest } = row;
  const config = row.config as AutomationConfig;
  const hook: Hook = {
    ...rest,
    config,
    secret: sealedSecret === null ? null : app.secrets.open(sealedSecret, secretLabel(row)),
    proof: sealedAuth === null ? null : app.secrets.open(sealedAuth, authLabel(row)),
    needsTimestamp: needsTimestamp(config, timestampRule),
    hasSeenTimestamp: timestampRule === "seen",
  };
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
