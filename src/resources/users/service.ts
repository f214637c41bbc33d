import { and, eq, isNull } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { type Fault, faultsThrownBy, InvalidInput, notFound } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import type { ReadDb } from "../../store/store.ts";
import { changesBetween, record } from "../events/service.ts";
import { type UserRow, users } from "./table.ts";
import type { Preferences } from "./wire.ts";

interface NewUser {
  email: string;
  /** From `hashPassword`. Null for a user who signs in elsewhere. */
  passwordHash: string | null;
  firstName: string | null;
  lastName: string | null;
}

/** Returns the row of a new user. It isn't stored, and has no membership yet. */
export function newUser({ ids, clock }: Pick<Context, "ids" | "clock">, input: NewUser): UserRow {
  const at = timestamp(clock);
  return {
    ...input,
    id: ids.uuid(),
    email: normalEmail(input.email),
    profilePictureUrl: null,
    addressProvenAt: null,
    isOperator: false,
    erasedAt: null,
    locale: null,
    timezone: null,
    createdAt: at,
    updatedAt: at,
  };
}

/** Normalizes an email address for storage and comparison. */
export const normalEmail = (email: string) => email.trim().toLowerCase();

export async function findUserByEmail(db: ReadDb, email: string): Promise<UserRow | null> {
  const [row] = await db
    .select()
    .from(users)
    .where(and(eq(users.email, normalEmail(email)), isNull(users.erasedAt)));
  return row ?? null;
}

/** Returns whether the user administers the installation. */
export async function isOperator(db: ReadDb, id: string): Promise<boolean> {
  const [user] = await db.select({ isOperator: users.isOperator }).from(users).where(eq(users.id, id));
  return user?.isOperator === true;
}

/** Returns the current user. Throws `not_found`. */
export async function findMe(ctx: Context): Promise<UserRow> {
  const [row] = await ctx.db.select().from(users).where(eq(users.id, ctx.actor.id));
  if (!row) throw notFound("user");
  return row;
}

/** Changes the given fields; null clears one. Throws `invalid` for an unknown locale or time zone. */
export async function updatePreferences(ctx: Context, input: Preferences): Promise<UserRow> {
  const preferences = checked(input);
  return write(ctx, async (tx) => {
    const before = await findMe(tx);
    const changes = changesBetween(before, preferences);
    if (changes.length === 0) return before;
    const change = { ...preferences, updatedAt: timestampAfter(tx.clock, before.updatedAt) };
    await tx.db.update(users).set(change).where(eq(users.id, before.id));
    if (tx.organizationId) {
      await record(tx, "user.updated", { type: "user", id: before.id }, { changes } as unknown as JsonObject);
    }
    return { ...before, ...change };
  });
}

/** Returns the errors in the raw body of an update that has others. */
export const preferenceFaults = ({ locale, timezone }: JsonObject): Promise<Fault[]> =>
  faultsThrownBy(() =>
    checked({
      ...(typeof locale === "string" ? { locale } : {}),
      ...(typeof timezone === "string" ? { timezone } : {}),
    }),
  );

function checked({ locale, timezone, ...names }: Preferences): Preferences {
  const faults: Fault[] = [];
  const take = (name: string, value: string | null | undefined, read: (value: string) => string | null) => {
    if (value === undefined) return {};
    const canonical = value === null ? null : read(value);
    if (value !== null && canonical === null) {
      faults.push({ loc: ["body", name], msg: `Unknown ${name} '${value}'`, type: `${name}_unknown` });
    }
    return { [name]: canonical };
  };
  const preferences = {
    ...names,
    ...take("locale", locale, canonicalLocale),
    ...take("timezone", timezone, canonicalTimezone),
  };
  if (faults.length > 0) throw new InvalidInput(faults);
  return preferences;
}

function canonicalLocale(tag: string): string | null {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? null;
  } catch {
    return null; // Intl throws a RangeError for an unknown one.
  }
}

/** Intl also accepts offsets such as `+01:00`, which aren't IANA names. */
function canonicalTimezone(name: string): string | null {
  if (!/^[A-Za-z]/.test(name)) return null;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions();
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name; // Keep the newer of two names of a zone.
  } catch {
    return null; // Intl throws a RangeError for an unknown one.
  }
}
