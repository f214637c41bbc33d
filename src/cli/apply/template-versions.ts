import { isObject, type Json, type JsonObject } from "../../base/json.ts";

/** Versions of an organization's templates, by purpose. */
export interface Versions {
  /** The version of each slug that new resources are created from. */
  main: JsonObject[];
  /**
   * Versions to export: these, drafts, those that resources were created from,
   * and those that bundles refer to by number.
   */
  exported: ReadonlySet<JsonObject>;
  /** Slugs of which more than one version is exported or needed, so that files refer to them by number. */
  numbered: ReadonlySet<string>;
}

/** Selects versions. `made` are the connections and actions. */
export function sortVersions(
  versions: readonly JsonObject[],
  made: { connection: readonly JsonObject[]; action: readonly JsonObject[] },
): Versions {
  const idsOf = (rows: readonly JsonObject[]) => new Set(rows.map(({ templateId }) => templateId ?? null));
  const used = { connection: idsOf(made.connection), action: idsOf(made.action) };
  const isUsed = ({ id, templateType }: JsonObject) =>
    (templateType === "connection" || templateType === "action") && used[templateType].has(id ?? null);
  const main = mainVersions(versions, isUsed);
  const kept = new Set([...main, ...versions.filter((row) => row.status === "draft" || isUsed(row))]);
  const named = [...kept].flatMap((row) => (row.templateType === "bundle" ? versionsNamedBy(row) : []));
  const isNamed = ({ slug, version }: JsonObject) =>
    named.some((one) => one.slug === slug && one.version === version);
  for (const row of versions.filter(isNamed)) kept.add(row);
  const others = [...kept].filter((row) => !main.includes(row));
  const numbered = new Set([...others.map(({ slug }) => String(slug)), ...named.map(({ slug }) => slug)]);
  return { main, exported: kept, numbered };
}

/** The version that a connection or action was created from, and whether files refer to it by number. */
export function originOf(
  { templateId }: JsonObject,
  type: "connection" | "action",
  versions: readonly JsonObject[],
  { numbered }: Versions,
) {
  const row = versions.find(({ id, templateType }) => id === templateId && templateType === type);
  const fields = { template: row?.slug ?? null, templateVersion: row?.version ?? null };
  return { fields, isNumbered: numbered.has(String(row?.slug)) };
}

/**
 * Per slug, the newest published version. Else the newest deprecated one that something was created from,
 * since nothing can be created from a draft. Else the draft, else the newest.
 */
function mainVersions(versions: readonly JsonObject[], isUsed: (row: JsonObject) => boolean): JsonObject[] {
  const rank = (row: JsonObject) =>
    row.status === "published" ? 0 : row.status === "draft" ? 2 : isUsed(row) ? 1 : 3;
  const best = new Map<string, JsonObject>();
  for (const row of versions) {
    const slug = String(row.slug);
    const other = best.get(slug);
    const isBetter =
      other === undefined ||
      rank(row) < rank(other) ||
      (rank(row) === rank(other) && Number(row.version) > Number(other.version));
    if (isBetter) best.set(slug, row);
  }
  return [...best.values()];
}

/** The versions that a bundle's components refer to by slug and number. */
function versionsNamedBy({ definition }: JsonObject): { slug: string; version: Json }[] {
  const components =
    isObject(definition) && Array.isArray(definition.components) ? definition.components : [];
  return components
    .filter(isObject)
    .flatMap(({ templateSlug, templateVersion = null }) =>
      typeof templateSlug === "string" && templateVersion !== null
        ? [{ slug: templateSlug, version: templateVersion }]
        : [],
    );
}
