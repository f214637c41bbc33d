import { and, eq, isNull } from "drizzle-orm";
import { timestamp, timestampAfter } from "../../base/clock.ts";
import { type Fault, InvalidInput, notFound } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Context, write } from "../../context.ts";
import type { ReadDb } from "../../store/store.ts";
import { changesBetween, record } from "../events/service.ts";
import { type UserRow, users } from "./table.ts";
import type { Preferences } from "./wire.ts";

interface NewUser {
  email: string;
  /** Of `hashPassword`; null for someone who signs in elsewhere. */
  passwordHash: string | null;
  firstName: string | null;
  lastName: string | null;
}

/** The row of a new user, not yet stored, as yet a member of nothing. */
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

/** As e-mail addresses are stored and compared. */
export const normalEmail = (email: string) => email.trim().toLowerCase();

export async function findUserByEmail(db: ReadDb, email: string): Promise<UserRow | null> {
  const [row] = await db
    .select()
    .from(users)
    .where(and(eq(users.email, normalEmail(email)), isNull(users.erasedAt)));
  return row ?? null;
}

/** True for a person who stands above organizations. */
export async function isOperator(db: ReadDb, id: string): Promise<boolean> {
  const [user] = await db.select({ isOperator: users.isOperator }).from(users).where(eq(users.id, id));
  return user?.isOperator === true;
}

/** The acting person. Throws `not_found`. */
export async function findMe(ctx: Context): Promise<UserRow> {
  const [row] = await ctx.db.select().from(users).where(eq(users.id, ctx.actor.id));
  if (!row) throw notFound("user");
  return row;
}

/** Changes what is given; null clears. Throws `invalid` for a locale or time zone that does not exist. */
export async function updatePreferences(ctx: Context, input: Preferences): Promise<UserRow> {
  const given = checked(input);
  return write(ctx, async (tx) => {
    const before = await findMe(tx);
    const changes = changesBetween(before, given);
    if (changes.length === 0) return before;
    const change = { ...given, updatedAt: timestampAfter(tx.clock, before.updatedAt) };
    await tx.db.update(users).set(change).where(eq(users.id, before.id));
    if (tx.organizationId) {
      await record(tx, "user.updated", { type: "user", id: before.id }, { changes } as unknown as JsonObject);
    }
    return { ...before, ...change };
  });
}

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
    return null; // a RangeError is Intl's word for no
  }
}

/** Intl also takes offsets such as `+01:00`; those are no IANA names. */
function canonicalTimezone(name: string): string | null {
  if (!/^[A-Za-z]/.test(name)) return null;
  try {
    const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions();
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name; // keep the newer of two names of one zone
  } catch {
    return null; // a RangeError is Intl's word for no
  }
}
