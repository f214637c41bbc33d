import { mkdir, rm } from "node:fs/promises";
import { AppError } from "../../base/errors.ts";
import type { LakeTable } from "../../lake/contract.ts";
import type { Extraction, Extractor, Link } from "../../providers/contract.ts";
import type { SqlSession } from "../../sql/contract.ts";
import type { RunContext } from "../contract.ts";
import { isWhole, warnOfLeftOut } from "./boundary.ts";
import { choiceOf } from "./chosen.ts";
import { landDirect } from "./direct.ts";
import { checkLimit, hasAllKeys, hasOddKeys, keysOfRows, takeKeys } from "./gone.ts";
import { guessSheet, isGuessable, landGuessed } from "./guess.ts";
import { takeLoose } from "./intake.ts";
import type { IntakeOptions } from "./intake-options.ts";
import { isUpsert } from "./lacking.ts";
import { knownColumns, type Landed, landStaged, type Site } from "./land.ts";
import { META_COLUMNS, Names, PARENT_COLUMN, PATH_SEPARATOR } from "./naming.ts";
import { Peekable } from "./peekable.ts";
import type { Options } from "./plan.ts";
import type { Reporter } from "./reporter.ts";
import { Staging } from "./staging.ts";
import { measured, recordFiles, takeTyped, typedSheet } from "./typed.ts";
import { typedNames, warnOfGone, warnOfMissing, warnOfOdd, warnOfUnsure } from "./warnings.ts";

/** State shared by the resources of one run. */
export interface Job {
  ctx: RunContext;
  /** Null if the provider stores no state. */
  extractor: Extractor | null;
  session: SqlSession;
  folder: string;
  options: Options;
  /** The dataset's tables as of the last commit. */
  tables: readonly LakeTable[];
  /** The child tables that earlier loads created for a table. */
  childrenOf(table: string): readonly LakeTable[];
  /** Names of tables that are not child tables, and of the child tables of this load. */
  names: Names;
  reporter: Reporter;
  warn(text: string): void;
}

/**
 * Lands a resource in its own folder. With `isTrusting`, the first rows decide the types of columns that the source
 * doesn't define. Throws a refusal (`isRefusal`) if a later row has another type.
 */
export async function landIn(
  job: Job,
  site: Omit<Site, "staging">,
  folder: string,
  isTrusting: boolean,
): Promise<Landed> {
  await mkdir(folder, { mode: 0o700 });
  const staging = new Staging(job.session, folder);
  const names = job.names.copy();
  try {
    const landed = await land({ ...job, names }, { ...site, staging }, isTrusting);
    job.names = names;
    return landed;
  } catch (error) {
    await staging.conveyor.idle();
    await rm(folder, { recursive: true });
    throw error;
  }
}

async function land(
  { ctx, extractor, options, tables, names, reporter, warn }: Job,
  originalSite: Site,
  isTrusting: boolean,
): Promise<Landed> {
  const { plan, staging } = originalSite;
  const { provider, link } = await ctx.connection(options.purpose);
  if (!provider.extract)
    throw new AppError("definition_invalid", `${provider.title} has nothing to extract.`);
  if (plan.request.endpoint && !provider.http) {
    const message = `${plan.resource}: endpoint is only for connections of an HTTP connection template. ${provider.title} defines the requests of its resources itself.`;
    throw new AppError("definition_invalid", message);
  }
  let isCut = false;
  const counted: Link = {
    ...link,
    warn(text, loss) {
      if (loss?.isPartial) isCut = true;
      warn(`${plan.resource}: ${text}`);
    },
    note(text) {
      ctx.log("info", `${plan.resource}: ${text}`);
      reporter.note(text);
    },
    waits: (until) => reporter.waits(until),
  };
  const extraction = await (extractor
    ? extractor.extract(counted, plan.request)
    : provider.extract(counted, plan.request));
  const site: Site = { ...originalSite, where: extraction.kind === "files" ? plan.request.where : null };
  // A cursor may only advance past rows that were read, and with a condition the limit counts matching rows. Both
  // are known only after all rows have been read.
  const isUncut = site.where !== null || (plan.incremental !== null && !options.dryRun);
  const intake: IntakeOptions = {
    table: plan.table,
    idPrefix: site.idPrefix,
    maxNesting: options.maxNesting,
    fingerprint: (plan.incremental !== null && isWhole(plan)) || plan.strategy === "scd2",
    isPresenceKept: isUpsert(plan) && site.existing(plan.table) !== null,
    only: plan.request.columns && choiceOf(plan.request.columns),
    limit: isUncut ? null : plan.limit,
    strictCounts: options.strictCounts,
    tables: names,
    namesOf: (table) => namesOf(tables, table, plan.disposition === "replace"),
    file: plan.file,
    readSheets: (source) => ctx.sheets.read(source),
    sheet: plan.sheet,
    folder: staging.folder,
    known: knownColumns(site.existing(plan.table)),
    fixed: plan.fixed,
    isTrusting,
    signal: ctx.signal,
    warn,
    progress: (rows) => reporter.rows(rows),
  };
  if (extraction.kind === "csv") {
    try {
      const landed = await landTyped(extraction, site, intake, { isTrusting, reporter });
      if (!extraction.keys) return withKeys({ ...landed, isPartial: isCut }, site, intake);
      reporter.phase("extract", `Looking for deleted rows of ${plan.resource}`, 0);
      return { ...landed, keysFile: await takeKeys(await extraction.keys(), landed, staging, intake) };
    } finally {
      await extraction.close?.();
    }
  }
  const isGuessed = isTrusting && isGuessable(site);
  if (isGuessed) staging.guess = async (sheet) => (await guessSheet(site, sheet))?.targets ?? null;
  const taken = await takeLoose(extraction, staging, intake);
  warnOfUnsure(taken.sheets, site);
  for (const text of names.unsureNames(plan.table)) warn(text);
  // Other sources know their columns and reject unknown ones that are selected.
  const selected = extraction.kind === "files" || provider.http ? (plan.request.columns ?? []) : [];
  if (taken.sheets[0]?.rows) warnOfMissing(new Set([...selected, ...typedNames(plan)]), taken.sheets, site);
  if (taken.areNamed && taken.sheets[0]) warnOfGone(taken.sheets[0], site);
  reporter.phase("normalize", `Sorting ${plan.resource}`, taken.sheets[0]?.rows);
  const guessed = isGuessed ? await landGuessed(site, taken) : null;
  const landed = guessed ?? (await landStaged(site, taken, extraction.ranged));
  warnOfOdd(taken.odd, site);
  const odd = [taken.odd, extraction.kind === "rows" ? extraction.odd : undefined];
  if (extraction.kind === "rows") warnOfOdd(extraction.odd, site);
  const isPartial = isCut || taken.isPartial === true || hasOddKeys(landed, odd);
  return withKeys({ ...landed, isPartial }, site, intake);
}

/** The names that earlier loads gave to a table's columns, and to the lists in its rows. */
function namesOf(tables: readonly LakeTable[], name: string, isReplaced: boolean): Names {
  const columns = knownColumns(tables.find(({ table }) => table === name) ?? null) ?? [];
  const lists = tables.flatMap((child) => {
    const source = listOf(child);
    const isIn = source !== undefined && child.table.startsWith(`${name}${PATH_SEPARATOR}`);
    return isIn ? [{ name: child.table.slice(name.length + PATH_SEPARATOR.length), source }] : [];
  });
  return new Names(META_COLUMNS, [...columns, ...lists], isReplaced);
}

/** The list of the parent's rows that the rows of a child table are from. */
export const listOf = ({ columns }: LakeTable): string | undefined =>
  columns.find(({ name }) => name === PARENT_COLUMN)?.source;

/** Adds the keys of the rows that were read, which are all of the source's. Leaves them out if rows are missing. */
async function withKeys(
  landed: Landed,
  { plan, staging, warn }: Site,
  { limit }: IntakeOptions,
): Promise<Landed> {
  if (!plan.request.keys) return landed;
  checkLimit(landed, plan, limit);
  const keysFile = hasAllKeys(landed, warn) ? await keysOfRows(landed, staging) : null;
  return keysFile === null ? landed : { ...landed, keysFile };
}

async function landTyped(
  extraction: Extraction & { kind: "csv" },
  site: Site,
  intake: IntakeOptions,
  { isTrusting, reporter }: { isTrusting: boolean; reporter: Reporter },
): Promise<Landed> {
  const { staging, plan } = site;
  const sheet = typedSheet(extraction, intake);
  const known = knownColumns(site.existing(sheet.table));
  const records = new Peekable(
    measured(recordFiles(extraction, staging, intake), { extraction, sheet, staging, known }),
  );
  warnOfGone(sheet, site);
  warnOfUnsure([sheet], site);
  warnOfMissing(typedNames(plan), [sheet], site);
  let landed = isTrusting ? await landDirect(site, extraction, records, sheet) : null;
  if (!landed) {
    const taken = await takeTyped(extraction, records, sheet, staging);
    reporter.phase("normalize", `Sorting ${plan.resource}`, sheet.rows);
    landed = await landStaged(site, taken, extraction.ranged);
  }
  warnOfOdd(extraction.odd, site);
  if (plan.incremental) warnOfLeftOut(extraction.leftOut ?? 0, plan.incremental.field, site.warn);
  return landed;
}
