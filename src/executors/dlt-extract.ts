import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import type { CursorState, LakeTable, TableChange } from "../lake/contract.ts";
import { type Done, datasetOf, defineExecutor, type RunContext } from "./contract.ts";
import { type Definition, definition, faultsOf, result, sourceFaultsOf } from "./extract/definition.ts";
import { expand } from "./extract/expand.ts";
import { type Finished, finish } from "./extract/finish.ts";
import { deleteMissing } from "./extract/gone.ts";
import type { Landed, Site } from "./extract/land.ts";
import { type Job, landIn, listOf } from "./extract/landing.ts";
import { withNamed } from "./extract/named.ts";
import { Names, normaliseName } from "./extract/naming.ts";
import {
  type Options,
  type Plan,
  planResource,
  type ResourceDefinition,
  resourceName,
  tableName,
} from "./extract/plan.ts";
import { rejectsArtifact } from "./extract/rejects.ts";
import { Reporter } from "./extract/reporter.ts";
import { columnsOf, type SchemaContract } from "./extract/resolve.ts";
import { isRefusal } from "./extract/typed.ts";
import { warnOfAhead, warnOfLimit, warnOfTwice, warnOfVariants, warnOfZones } from "./extract/warnings.ts";
import { isSafeMethod } from "./http/definition.ts";
import { asJson } from "./transform/work.ts";

/**
 * Copies tables, API resources or files of a connection into the lake. A second attempt is safe: neither rows nor
 * cursors are visible before the transaction that completes the run, so an interrupted run has no effect.
 */
export const dltExtract = defineExecutor({
  kind: "dlt_extract",
  title: "Extract",
  description: "Loads tables, files or API data from a connection into the lake, in full or incrementally.",
  definition,
  result,
  providers: [
    "postgres",
    "s3",
    "local_files",
    "sftp",
    "shopify",
    "klaviyo",
    "google_drive",
    "amazon_seller",
    "mysql",
    "http",
  ],
  writes: ({ layer = "raw", dataset, dryRun }) => (dryRun === true ? null : datasetOf(layer, dataset)),
  resources: ({ resources }) =>
    (Array.isArray(resources) ? resources : []).filter(isObject).map((each) => resourceName(each)),
  sqlFields: ["resources.*.where"],
  check: (input) => faultsOf(input),
  checkSource: sourceFaultsOf,
  execute,
});

interface Extracted {
  plan: Plan;
  landed: Landed;
  finished: Finished[];
}

async function execute(ctx: RunContext, input: Definition): Promise<Done> {
  const mayChange = (resources: readonly ResourceDefinition[]) =>
    resources.some(({ endpoint }) => !isSafeMethod(endpoint?.method ?? "GET"));
  const first = await ctx.connection(mayChange(input.resources) ? "write" : "read");
  const [fault] = sourceFaultsOf(input, first.provider);
  if (fault) throw new AppError("definition_invalid", `${fault.path.join(".")}: ${fault.message}`);
  const namedResources = withNamed(input.resources, first.provider.resources?.(first.link.config) ?? []);
  const purpose = mayChange(namedResources) ? "write" : "read";
  const source = purpose === "write" ? await ctx.connection(purpose) : first;
  const began = ctx.clock.monotonic();
  const options: Options = {
    purpose,
    layer: input.layer ?? "raw",
    dataset: input.dataset,
    contract: contractOf(input.schemaContract),
    batchSize: input.batchSize ?? null,
    maxRows: input.maxRows ?? null,
    maxNesting: input.maxTableNesting ?? 3,
    dryRun: input.dryRun ?? false,
    strictCounts: input.strictCounts ?? false,
    allowPartial: input.allowPartial ?? false,
  };
  const warnings: string[] = [];
  const warn = (message: string) => {
    if (warnings.includes(message)) return;
    warnings.push(message);
    ctx.log("warn", message);
  };
  using reporter = new Reporter(ctx);
  reporter.phase("extract", "Waiting for the dataset");
  if (!options.dryRun) await ctx.lake.lock(options.layer, options.dataset);
  const log = (message: string) => ctx.log("info", message);
  const resources = await expand(namedResources, source, { warn, log });
  const tables = (await ctx.lake.tables()).filter(
    (t) => t.layer === options.layer && t.dataset === options.dataset,
  );
  const others = tables.filter((table) => !isChild(table)).map((table) => table.table);
  const roots = new Set([...resources.map(tableName), ...others]);

  const childrenOf = childrenByRoot(tables, roots);
  const folder = await ctx.workFolder();
  const session = await ctx.sql.session({
    folders: [folder],
    files: await filesToMerge(ctx, resources, tables, childrenOf),
    signal: ctx.signal,
  });
  const extractor = source.provider.extractor?.() ?? null;
  try {
    const job: Job = {
      ctx,
      extractor,
      session,
      folder,
      options,
      tables,
      childrenOf,
      names: new Names(roots, tables.filter(isChild).map(asKnown)),
      reporter,
      warn,
    };
    const extracted: Extracted[] = [];
    const queue = [...resources];
    for (let index = 0; index < queue.length; index++) {
      const resource = queue[index] as ResourceDefinition;
      const done = await extractAllowed(job, resource, index);
      if (!done) continue;
      extracted.push(done);
      queue.push(...sheetsOf(resource, done, queue));
    }
    if (extracted.length === 0) {
      throw new AppError("upstream", "The credentials can read none of the resources. Nothing was loaded.", {
        details: { warnings },
      });
    }
    const changes = options.dryRun ? [] : await storeFiles(job, extracted);
    const durationSeconds = Math.round(ctx.clock.monotonic() - began) / 1000;
    const summary = resultOf(job, extracted, warnings, durationSeconds);
    if (options.dryRun) return { result: summary };
    const { layer, dataset } = options;
    const rejecting = extracted.filter(({ landed }) => landed.rejects.length > 0);
    return {
      result: summary,
      artifacts: rejecting.map(({ plan, landed }) => rejectsArtifact(plan.table, landed.rejects)),
      load: { loadId: ctx.run.id, layer, dataset, tables: changes, cursors: cursorsOf(extracted) },
    };
  } finally {
    await extractor?.close();
    await session.close();
  }
}

/** Resources for the further sheets of a workbook: each becomes its own table, `table_sheet`. */
function sheetsOf(
  resource: ResourceDefinition,
  { plan, landed }: Extracted,
  queue: readonly ResourceDefinition[],
): ResourceDefinition[] {
  return landed.furtherSheets.flatMap((sheet) => {
    const name = `${resource.name ?? plan.table}_${normaliseName(sheet)}`;
    const isTaken = queue.some((each) => tableName(each) === tableName({ name }));
    return isTaken ? [] : [{ ...resource, name, spec: plan.request.spec, furtherSheet: sheet }];
  });
}

function contractOf(contract: Definition["schemaContract"]): SchemaContract {
  const { tables, columns, dataType } =
    typeof contract === "string"
      ? { tables: contract, columns: contract, dataType: contract }
      : (contract ?? {});
  return { tables: tables ?? "evolve", columns: columns ?? "evolve", dataType: dataType ?? "evolve" };
}

const asKnown = (table: LakeTable) => ({ name: table.table, source: listOf(table) });

const isChild = (table: LakeTable) => table.columns.some((column) => column.name === "_dlt_root_id");

/**
 * Returns the child tables that earlier loads created for each root, without those of another root whose name starts
 * the same.
 */
function childrenByRoot(tables: readonly LakeTable[], roots: ReadonlySet<string>): Job["childrenOf"] {
  const byRoot = Map.groupBy(tables.filter(isChild), ({ table }) => longestRoot(table, roots));
  return (root) => byRoot.get(root) ?? [];
}

/** Null for a child whose root no longer exists. */
function longestRoot(child: string, roots: ReadonlySet<string>): string | null {
  for (let end = child.lastIndexOf("__"); end > 0; end = child.lastIndexOf("__", end - 1)) {
    if (roots.has(child.slice(0, end))) return child.slice(0, end);
  }
  return null;
}

/** A merge reads the existing files, so the session must be allowed to. */
async function filesToMerge(
  { lake }: RunContext,
  resources: readonly ResourceDefinition[],
  tables: readonly LakeTable[],
  childrenOf: Job["childrenOf"],
): Promise<string[]> {
  const merged = resources
    .filter(
      ({ writeDisposition, deletes }) => writeDisposition === "merge" || (deletes ?? "ignore") !== "ignore",
    )
    .map(tableName);
  const read = merged.flatMap((name) => [
    ...tables.filter((table) => table.table === name),
    ...childrenOf(name),
  ]);
  return Promise.all(read.flatMap((table) => table.files).map((file) => lake.localPath(file)));
}

/** Null for a resource that the credentials can't read, if the definition allows that. */
async function extractAllowed(
  job: Job,
  resource: ResourceDefinition,
  index: number,
): Promise<Extracted | null> {
  try {
    return await extract(job, resource, index);
  } catch (error) {
    const scope = error instanceof AppError ? error.details?.missingScope : undefined;
    if (!job.options.allowPartial || typeof scope !== "string") throw error;
    job.warn(`${resourceName(resource)} was skipped: missing_scope: ${scope}.`);
    return null;
  }
}

async function extract(job: Job, resource: ResourceDefinition, index: number): Promise<Extracted> {
  const { ctx, session, options, tables, childrenOf, reporter, warn } = job;
  const stored = resource.incremental ? await ctx.lake.cursor(resourceName(resource)) : null;
  const plan = planResource(resource, options, stored, warn);
  const children = childrenOf(plan.table);
  reporter.phase("extract", `Reading ${plan.resource}`, 0);
  const folder = join(job.folder, `resource-${index}`);
  await mkdir(folder, { mode: 0o700 });
  const idPrefix = `${Bun.hash.xxHash64(`${ctx.run.id}/${plan.table}`).toString(36)}.`;
  const site: Omit<Site, "staging"> = {
    plan,
    contract: options.contract,
    loadId: ctx.run.id,
    idPrefix,
    startedAt: ctx.run.startedAt,
    dryRun: options.dryRun,
    fixed: plan.fixed,
    where: null,
    existing: (name) => tables.find((table) => table.table === name) ?? null,
    warn,
  };
  const landed = await landIn(job, site, join(folder, "first"), true).catch((error: unknown) => {
    if (!isRefusal(error)) throw error;
    ctx.log(
      "debug",
      `${plan.resource}: a later value is of another type than the first ones; reading again.`,
    );
    return landIn(job, site, join(folder, "second"), false);
  });
  reporter.phase("load", `Loading ${plan.resource}`, landed.tables[0]?.rowsRead);
  const surroundings = { session, lake: ctx.lake, folder, plan, startedAt: site.startedAt, children, warn };
  const finished = await finish(landed, surroundings);
  if (landed.keysFile) await deleteMissing(finished, landed, landed.keysFile, surroundings);
  const [root] = finished;
  warnOfAhead(landed, site);
  await warnOfVariants(session, landed, site);
  await warnOfZones(session, landed, site);
  warnOfLimit(plan, options, landed.tables[0]?.rowsRead ?? 0, warn);
  if (root && !options.dryRun) warnOfTwice(plan, root.result.rows, site.existing(plan.table), warn);
  ctx.log(
    "info",
    `${plan.resource}: ${root?.result.rowsRead} rows read, ${root?.result.rows} loaded, ${root?.result.deduplicated} duplicates, ${root?.result.rejected} rejected.`,
  );
  return { plan, landed, finished };
}

/** Moves the files into the lake, where they are invisible until the load is committed. */
async function storeFiles(
  { ctx, options, reporter }: Job,
  extracted: readonly Extracted[],
): Promise<TableChange[]> {
  const { layer, dataset } = options;
  const changes: TableChange[] = [];
  for (const { change } of extracted.flatMap(({ finished }) => finished)) {
    if (!change) continue;
    const { files, ...rest } = change;
    const add = [];
    for (const file of files) {
      ctx.signal.throwIfAborted();
      reporter.phase("commit", `Storing ${change.table}`);
      add.push(await ctx.lake.add({ layer, dataset, table: change.table, loadId: ctx.run.id }, file));
    }
    changes.push({ ...rest, add });
  }
  return changes;
}

function cursorsOf(extracted: readonly Extracted[]): Record<string, CursorState> {
  const states = extracted.flatMap(({ plan, landed }) =>
    landed.state ? [[plan.resource, landed.state] as const] : [],
  );
  return Object.fromEntries(states);
}

function resultOf(
  job: Job,
  extracted: readonly Extracted[],
  warnings: string[],
  durationSeconds: number,
): JsonObject {
  const tables = extracted.flatMap(({ landed, finished }) =>
    finished.map(({ result }) => {
      const table = landed.tables.find((each) => each.table === result.table);
      if (!job.options.dryRun || !table) return { ...result };
      return { ...result, columns: columnsOf(table.targets).map(asJson), sample: table.sample };
    }),
  );
  return {
    loadId: job.ctx.run.id,
    mode: modeOf(
      extracted.map(({ plan }) => plan),
      job.tables,
    ),
    tables: tables as unknown as Json,
    rows: tables.reduce((sum, table) => sum + table.rows, 0),
    bytes: tables.reduce((sum, table) => sum + table.bytes, 0),
    durationSeconds,
    warnings,
  };
}

/** One mode for all resources: a load is incremental as soon as one of them continues from an earlier one. */
function modeOf(
  plans: readonly Plan[],
  tables: readonly LakeTable[],
): "initial" | "incremental" | "backfill" | "replace" {
  if (plans.some((plan) => plan.incremental?.isBackfill)) return "backfill";
  if (plans.every((plan) => plan.disposition === "replace")) return "replace";
  const goesOn = (plan: Plan) =>
    plan.incremental ? plan.incremental.stored !== null : tables.some((table) => table.table === plan.table);
  return plans.some((plan) => plan.disposition !== "replace" && goesOn(plan)) ? "incremental" : "initial";
}
