import { and, asc, eq } from "drizzle-orm";
import { AppError, type Fault, InvalidInput, notFound } from "../../base/errors.ts";
import { canonicalJson, isObject, type Json, type JsonObject } from "../../base/json.ts";
import { fillOnce } from "../../base/template-install.ts";
import { created, touched, type WriteContext } from "../../context.ts";
import { record } from "../events/service.ts";
import { refuseUnpublished, versionsOf } from "../template-library/find.ts";
import { inputFaults, inputNames, secretInputs, valueIn, withDefaults } from "../template-library/inputs.ts";
import type { TemplateRow } from "../templates/table.ts";
import { type Entity, entityOf, makeEntity, type Ready, updateEntity } from "./build.ts";
import { type BundleDefinition, type Component, templateFields } from "./definition.ts";
import { inOrder, type Linked } from "./order.ts";
import { fieldsOf, NAMES, needsOf, referencesIn } from "./references.ts";
import { type BundleInstallRow, bundleInstalls, type Installed, installLabel } from "./table.ts";
import type { InstallResult } from "./wire.ts";

/**
 * Creates all components of a bundle, or none. Installing the same version with the same inputs again creates nothing,
 * except what was deleted in the meantime. A newer version updates what the older one created with these inputs, or
 * with others if it was installed only once.
 *
 * Throws `not_found`, `invalid_state` for an unpublished version, `InvalidInput` below `body.inputs`, and `conflict`
 * for an older version than the installed one.
 */
export async function installBundle(
  tx: WriteContext,
  slug: string,
  { version, inputs: ownInputs }: { version?: number; inputs: JsonObject },
): Promise<InstallResult> {
  const bundle = await chooseVersion(tx, slug, version);
  const inputs = checkInputs(bundle, ownInputs);
  const fingerprint = new Bun.CryptoHasher("sha256").update(canonicalJson(inputs)).digest("hex");
  const before = await installToUpdate(tx, bundle, fingerprint);
  const isSame = before?.version === bundle.version;
  const scope: Scope = { inputs, components: {} };
  const entities = new Map<string, Entity>();
  let isChanged = before === null || !isSame;
  for (const { component } of inOrder(linkedOf(tx, bundle)).sorted) {
    const made = before?.components.find(({ key, type }) => key === component.key && type === component.type);
    const found = made ? await entityOf(tx, made) : null;
    if (!found || !isSame) isChanged = true;
    const entity = found && isSame ? found : await build(tx, bundle, component, scope, found);
    entities.set(component.key, entity);
    scope.components[component.key] = { id: entity.id, slug: entity.slug, name: entity.name };
  }
  const components = componentsOf(bundle).flatMap((component) => {
    const entity = entities.get(component.key);
    return entity ? [{ component, entity }] : [];
  });
  if (isChanged) await keep(tx, { bundle, fingerprint, before, components });
  return { bundle, components };
}

interface Scope {
  inputs: JsonObject;
  components: JsonObject;
}

const componentsOf = ({ definition }: TemplateRow): Component[] =>
  (definition as unknown as BundleDefinition).components;

const linkedOf = (tx: WriteContext, bundle: TemplateRow): Linked[] =>
  componentsOf(bundle).map((component) => ({
    component,
    needs: needsOf(component, referencesIn(tx, component).references),
  }));

/** Returns the requested version, otherwise the latest published one. */
async function chooseVersion(tx: WriteContext, slug: string, version?: number): Promise<TemplateRow> {
  const all = (await versionsOf(tx, slug)).filter(({ templateType }) => templateType === "bundle");
  const row =
    version === undefined
      ? (all.find(({ status }) => status === "published") ?? all[0])
      : all.find((each) => each.version === version);
  if (!row && all.length > 0)
    throw new AppError("not_found", `The bundle ${slug} has no version ${version}.`);
  if (!row) throw notFound("bundle");
  refuseUnpublished(row);
  return row;
}

/** Returns the inputs merged over their defaults. Throws `InvalidInput`. */
function checkInputs(bundle: TemplateRow, values: JsonObject): JsonObject {
  const loc = ["body", "inputs"];
  const inputs = withDefaults(bundle, values);
  const faults = inputFaults(bundle, inputs, loc);
  const names = inputNames(bundle);
  const reported = new Set(faults.map((fault) => fault.loc[2]));
  for (const name of Object.keys(values)) {
    if (names === null || names.includes(name) || reported.has(name)) continue;
    faults.push({ loc: [...loc, name], msg: "Unknown field", type: "extra_forbidden" });
  }
  if (faults.length > 0) throw new InvalidInput(faults);
  return inputs;
}

async function installToUpdate(
  tx: WriteContext,
  bundle: TemplateRow,
  fingerprint: string,
): Promise<BundleInstallRow | null> {
  const rows = await tx.db
    .select()
    .from(bundleInstalls)
    .where(
      and(eq(bundleInstalls.organizationId, tx.organizationId), eq(bundleInstalls.bundleSlug, bundle.slug)),
    )
    .orderBy(asc(bundleInstalls.id));
  const same = rows.find((row) => tx.secrets.open(row.sealedFingerprint, installLabel(row)) === fingerprint);
  if (same && same.version > bundle.version) {
    const message = `Version ${same.version} of ${bundle.slug} is already installed with these inputs, and version ${bundle.version} is older.`;
    throw new AppError("conflict", message);
  }
  const [only] = rows;
  return same ?? (only && rows.length === 1 && only.version < bundle.version ? only : null);
}

/** Creates or updates a component. Faults are reported as faults of the inputs that caused them. */
async function build(
  tx: WriteContext,
  bundle: TemplateRow,
  component: Component,
  scope: Scope,
  found: Entity | null,
): Promise<Entity> {
  try {
    const ready = fillComponent(tx, bundle, component, scope);
    const updated = found && (await updateEntity(tx, found.id, ready));
    return updated ?? (await makeEntity(tx, ready));
  } catch (error) {
    throw error instanceof AppError ? toldOf(component, error) : error;
  }
}

function fillComponent(
  tx: WriteContext,
  bundle: TemplateRow,
  component: Component,
  { inputs, components }: Scope,
): Ready {
  const filling = { names: NAMES, look: valueIn({ inputs, components }) };
  const filled = fillOnce(fieldsOf(component), filling, templateFields(tx, component)) as JsonObject;
  const { name, definition, connectionId } = filled;
  return {
    component,
    name: typeof name === "string" && name.trim() !== "" ? name.slice(0, 255) : component.key,
    definition: isObject(definition) ? definition : null,
    connectionId: typeof connectionId === "string" ? connectionId : null,
    inputs: isObject(filled.inputs) ? filled.inputs : inputs,
    // Inputs of the template were checked when the bundle was saved.
    secrets: component.inputs === undefined ? secretInputs(bundle.inputJsonSchema) : [],
    bundleId: bundle.id,
  };
}

function toldOf({ key }: Component, error: AppError): AppError {
  const where = `Couldn't create the component ${key}`;
  if (error instanceof InvalidInput) {
    return new InvalidInput(
      error.faults.map(({ loc, msg, type }): Fault => {
        const path = loc.filter((part, depth) => depth > 0 || part !== "body").join(".");
        return { loc: ["body", "inputs"], msg: `${where}: ${path}: ${msg}`, type };
      }),
    );
  }
  if (error.code === "template_error") {
    const [, name] = /^inputs\.([\w-]+)/.exec(String(error.details?.missing ?? "")) ?? [];
    const loc = ["body", "inputs", ...(name === undefined ? [] : [name])];
    return new InvalidInput([
      { loc, msg: `${where}: ${error.message}`, type: name ? "missing" : "template_error" },
    ]);
  }
  const { code, retryable, cause, details } = error;
  return new AppError(code, `${where}: ${error.message}`, {
    retryable,
    cause,
    ...(details === null ? {} : { details }),
  });
}

async function keep(
  tx: WriteContext,
  done: InstallResult & { fingerprint: string; before: BundleInstallRow | null },
): Promise<void> {
  const { bundle, fingerprint, before } = done;
  const at = { id: before?.id ?? tx.ids.uuid(), organizationId: tx.organizationId };
  const installed = done.components.map(
    ({ component: { key, type }, entity }): Installed => ({
      key,
      type,
      entityType: type,
      entityId: entity.id,
    }),
  );
  const ids = new Set(installed.map(({ entityId }) => entityId));
  const left = (before?.components ?? []).filter(({ entityId }) => !ids.has(entityId));
  const row: BundleInstallRow = {
    ...created(tx),
    ...(before ? { createdAt: before.createdAt, createdBy: before.createdBy, ...touched(tx, before) } : {}),
    id: at.id,
    bundleSlug: bundle.slug,
    templateId: bundle.id,
    version: bundle.version,
    sealedFingerprint: tx.secrets.seal(fingerprint, installLabel(at)),
    components: [...installed, ...left],
  };
  if (before) await tx.db.update(bundleInstalls).set(row).where(eq(bundleInstalls.id, row.id));
  else await tx.db.insert(bundleInstalls).values(row);
  const data: Record<string, Json> = {
    bundleSlug: bundle.slug,
    version: bundle.version,
    previousVersion: before?.version ?? null,
    components: installed.map((each) => ({ ...each })),
    left: left.map((each) => ({ ...each })),
  };
  await record(tx, "bundle.installed", { type: "bundle", id: bundle.id }, data);
}
