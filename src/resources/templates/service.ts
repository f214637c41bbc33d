import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import { AppError, type Fault, InvalidInput } from "../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { keepTyped } from "../../base/typed-secrets.ts";
import { type Context, created, touched, type WriteContext, write } from "../../context.ts";
import { totalOf } from "../../store/counts.ts";
import { changesBetween, record } from "../events/service.ts";
import { builtInRows, findTemplate, mine, versionsOf } from "../template-library/find.ts";
import { templateFaults } from "./faults.ts";
import { isBuiltIn, type TemplateRow, type TemplateStatus, templates } from "./table.ts";
import { refuseUsed } from "./usage.ts";
import type { TemplateChange, TemplateCreate, TemplateQuery } from "./wire.ts";

const entity = (id: string) => ({ type: "template" as const, id });

const summaryOf = ({ slug, version, templateType, displayName }: TemplateRow) => ({
  slug,
  version,
  templateType,
  displayName,
});

/**
 * Lists the organization's own templates, each version separately, newest first; or built-in ones, by name;
 * or for connections, of which many are built in, both in that order.
 */
export async function listTemplates(
  ctx: Context,
  query: TemplateQuery,
): Promise<{ rows: TemplateRow[]; total: number }> {
  const { template_type, limit, offset, built_in } = query;
  if (built_in) return pageOf(shippedFor(ctx, query), query);
  const own = await ownTemplates(ctx, query);
  if (built_in === false || template_type !== "connection") return own;
  const rest = { limit: limit - own.rows.length, offset: Math.max(0, offset - own.total) };
  const shipped = pageOf(shippedFor(ctx, query), rest);
  return { rows: [...own.rows, ...shipped.rows], total: own.total + shipped.total };
}

const pageOf = (rows: TemplateRow[], { limit, offset }: { limit: number; offset: number }) => ({
  rows: rows.slice(offset, offset + limit),
  total: rows.length,
});

const wordsOf = ({ q = "" }: TemplateQuery) => q.toLowerCase().split(/\s+/).filter(Boolean);

const shippedFor = (ctx: Context, query: TemplateQuery): TemplateRow[] =>
  builtInRows(ctx).filter(
    (row) =>
      (query.template_type === undefined || row.templateType === query.template_type) &&
      (query.status === undefined || row.status === query.status) &&
      wordsOf(query).every((word) => searchedOf(row).toLowerCase().includes(word)),
  );

async function ownTemplates(
  ctx: Context,
  query: TemplateQuery,
): Promise<{ rows: TemplateRow[]; total: number }> {
  const { template_type, status, limit, offset } = query;
  const words = wordsOf(query);
  const filters: (SQL | undefined)[] = [
    ...words.map(
      (word) =>
        sql`instr(lower(${templates.displayName} || ' ' || ${templates.slug} || ' ' || coalesce(${templates.description}, '')), ${word}) > 0`,
    ),
    template_type && eq(templates.templateType, template_type),
    status && eq(templates.status, status),
  ];
  const where = and(eq(templates.organizationId, ctx.organizationId), ...filters);
  const rows = await ctx.db
    .select()
    .from(templates)
    .where(where)
    .orderBy(desc(templates.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await totalOf({ limit, offset }, rows, () => ctx.db.$count(templates, where)) };
}

/** Text that `q` searches. */
const searchedOf = ({ displayName, slug, description }: TemplateRow) =>
  `${displayName} ${slug} ${description ?? ""}`;

/** Returns what is wrong with the raw body of a create request beyond its shape, as far as it can be read. */
export async function creationFaults(raw: Json, ctx: Context | null): Promise<Fault[]> {
  if (!ctx || !isObject(raw)) return [];
  const { templateType, kind = null, definition, inputDefaults, inputJsonSchema } = raw;
  const isReadable =
    (templateType === "connection" || templateType === "action" || templateType === "bundle") &&
    (kind === null || typeof kind === "string") &&
    [definition, inputDefaults ?? {}, inputJsonSchema ?? {}].every(isObject);
  if (!isReadable) return []; // Reported by the shape.
  return templateFaults(ctx, {
    templateType,
    kind,
    definition: definition as JsonObject,
    inputDefaults: (inputDefaults ?? {}) as JsonObject,
    inputJsonSchema: (inputJsonSchema ?? {}) as JsonObject,
  });
}

/**
 * Creates a draft: the first version, or the one with the given number.
 * Throws `InvalidInput`, `slug_taken`, `conflict` for an existing version, and `invalid_state` next to another draft.
 */
export function createTemplate(ctx: Context, input: TemplateCreate): Promise<TemplateRow> {
  return write(ctx, async (tx) => {
    const row: TemplateRow = {
      id: tx.ids.uuid(),
      ...created(tx),
      slug: input.slug,
      version: input.version ?? 1,
      displayName: input.displayName,
      description: input.description ?? null,
      iconUrl: input.iconUrl ?? null,
      kind: input.kind ?? null,
      templateType: input.templateType,
      status: "draft",
      definition: input.definition,
      inputDefaults: input.inputDefaults ?? {},
      inputJsonSchema: input.inputJsonSchema ?? {},
    };
    await refuseFaults(tx, row);
    refuseBeside(row, await versionsOf(tx, row.slug), typeof input.version === "number");
    await tx.db.insert(templates).values(row);
    await record(tx, "template.created", entity(row.id), summaryOf(row));
    return row;
  });
}

/** Throws if `others`, the versions with this slug, don't allow a new one. */
function refuseBeside(row: TemplateRow, others: readonly TemplateRow[], isVersion: boolean): void {
  const isOfSame = (other: TemplateRow) =>
    !isBuiltIn(other) && other.templateType === row.templateType && other.kind === row.kind;
  if (others.length > 0 && !(isVersion && others.every(isOfSame)))
    throw new AppError(
      "slug_taken",
      `The slug ${row.slug} is already in use by another template. Choose another.`,
    );
  if (others.some(({ version }) => version === row.version))
    throw new AppError("conflict", `Version ${row.version} of the template ${row.slug} already exists.`);
  const draft = others.find(({ status }) => status === "draft");
  if (draft)
    throw new AppError(
      "invalid_state",
      `Version ${draft.version} of the template ${row.slug} is a draft. Publish or delete it first.`,
    );
}

async function refuseFaults(tx: WriteContext, row: TemplateRow, isWhole = false): Promise<void> {
  const faults = await templateFaults(tx, row, isWhole);
  if (faults.length > 0) throw new InvalidInput(faults);
}

/** Returns the errors of an update that has others, as far as its raw body can be read. */
export async function changeFaults(ctx: Context, id: string, raw: JsonObject): Promise<Fault[]> {
  const [before] = await ctx.db.select().from(templates).where(mine(ctx, id));
  if (!before) return [];
  const { templateType, kind, inputDefaults, inputJsonSchema } = before;
  const definition =
    raw.definition === undefined ? before.definition : keepTyped(raw.definition, before.definition);
  return creationFaults({ inputDefaults, inputJsonSchema, ...raw, templateType, kind, definition }, ctx);
}

/**
 * Changes only the given fields. A draft itself is changed. A published version stays the same,
 * and the change goes into the draft of the next version, which is created if there is none.
 * `status` then publishes or deprecates what was changed.
 *
 * Throws `InvalidInput`, `invalid_state` for a deprecated version and for a status that can't be reached.
 */
export function changeTemplate(ctx: Context, id: string, change: TemplateChange): Promise<TemplateRow> {
  return write(ctx, async (tx) => {
    const addressed = await findOwn(tx, id);
    const { status, ...fields } = change;
    const row = await changeFields(tx, addressed, valuesOf(fields));
    if (status === undefined || status === row.status) return row;
    if (status === "deprecated" && row.id !== addressed.id)
      throw new AppError(
        "invalid_state",
        `Other changes would make version ${row.version} of ${row.slug}. To deprecate version ${addressed.version}, set only its status.`,
      );
    return moveTo(tx, row, status);
  });
}

/** `null` clears an optional field. For schema and defaults, it means an empty object. */
function valuesOf({ inputDefaults, inputJsonSchema, ...rest }: Omit<TemplateChange, "status">) {
  return {
    ...rest,
    ...(inputDefaults === undefined ? {} : { inputDefaults: inputDefaults ?? {} }),
    ...(inputJsonSchema === undefined ? {} : { inputJsonSchema: inputJsonSchema ?? {} }),
  };
}

async function changeFields(
  tx: WriteContext,
  addressed: TemplateRow,
  fields: Partial<TemplateRow>,
): Promise<TemplateRow> {
  if (Object.values(fields).every((value) => value === undefined)) return addressed;
  const draft = await draftFor(tx, addressed);
  const base = draft ?? addressed;
  const values =
    fields.definition === undefined
      ? fields
      : { ...fields, definition: keepTyped(fields.definition, base.definition) as JsonObject };
  const changes = changesBetween(base, values);
  if (changes.length === 0) return base;
  if (addressed.status === "deprecated") {
    throw new AppError(
      "invalid_state",
      `Version ${addressed.version} of ${addressed.slug} is deprecated and can't be edited.`,
    );
  }
  const change = { ...values, ...touched(tx, base) };
  const changed: TemplateRow = { ...base, ...change };
  await refuseFaults(tx, changed);
  if (!draft) return makeNextVersion(tx, changed);
  await tx.db.update(templates).set(change).where(mine(tx, changed.id));
  await record(tx, "template.updated", entity(changed.id), {
    changes: maskSecrets(changes as unknown as Json),
  });
  return changed;
}

/** Returns the draft that a change of this version goes into. Null if it needs a new draft, or none. */
async function draftFor(tx: WriteContext, addressed: TemplateRow): Promise<TemplateRow | null> {
  if (addressed.status !== "published") return addressed.status === "draft" ? addressed : null;
  return (await versionsOf(tx, addressed.slug)).find(({ status }) => status === "draft") ?? null;
}

async function makeNextVersion(tx: WriteContext, changed: TemplateRow): Promise<TemplateRow> {
  const [newest] = await versionsOf(tx, changed.slug);
  const row: TemplateRow = {
    ...changed,
    ...created(tx),
    id: tx.ids.uuid(),
    version: (newest?.version ?? changed.version) + 1,
    status: "draft",
  };
  await tx.db.insert(templates).values(row);
  await record(tx, "template.created", entity(row.id), { ...summaryOf(row), fromVersion: changed.version });
  return row;
}

/** Throws `invalid_state` for a version that isn't a draft, and `InvalidInput` for one that has become invalid. */
export function publishTemplate(ctx: Context, id: string): Promise<TemplateRow> {
  return write(ctx, async (tx) => moveTo(tx, await findOwn(tx, id), "published"));
}

/**
 * From now on, nothing can be created from it; what was created keeps working.
 * Throws `invalid_state` if it isn't published.
 */
export function deprecateTemplate(ctx: Context, id: string): Promise<TemplateRow> {
  return write(ctx, async (tx) => moveTo(tx, await findOwn(tx, id), "deprecated"));
}

const FROM: Readonly<Partial<Record<TemplateStatus, TemplateStatus>>> = {
  published: "draft",
  deprecated: "published",
};

async function moveTo(tx: WriteContext, row: TemplateRow, status: TemplateStatus): Promise<TemplateRow> {
  if (FROM[status] !== row.status) {
    const needed = FROM[status];
    const hint =
      needed === undefined
        ? "versions can't become drafts again"
        : `only a ${needed} version can become ${status}`;
    const message = `Version ${row.version} of the template ${row.slug} is ${row.status}: ${hint}.`;
    throw new AppError("invalid_state", message);
  }
  if (status === "published") await refuseFaults(tx, row, true); // What it refers to may have been deleted.
  const change = { status, ...touched(tx, row) };
  await tx.db.update(templates).set(change).where(mine(tx, row.id));
  await record(
    tx,
    status === "published" ? "template.published" : "template.deprecated",
    entity(row.id),
    summaryOf(row),
  );
  return { ...row, ...change };
}

/** Deletes one version. Throws `in_use` if something created from it still exists, or a bundle refers to it. */
export async function deleteTemplate(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const row = await findOwn(tx, id);
    await refuseUsed(tx, row);
    await tx.db.delete(templates).where(mine(tx, row.id));
    await record(tx, "template.deleted", entity(row.id), summaryOf(row));
  });
}

/** Throws `not_found`, and `invalid_state` for a built-in template. */
async function findOwn(tx: WriteContext, id: string): Promise<TemplateRow> {
  const row = await findTemplate(tx, id);
  if (isBuiltIn(row))
    throw new AppError("invalid_state", `Template ${row.slug} is built-in and can't be changed.`);
  return row;
}
