import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { inArray } from "drizzle-orm";
import type { App } from "../context.ts";
import { entriesOf, touchedAt } from "../lake/leftovers.ts";
import { artifacts } from "../resources/artifacts/table.ts";

/** Younger files may belong to a load or a run that has not committed yet. */
const LEFT_FOR_MS = 60 * 60 * 1000;
export const BATCH = 100;
export const UUID_CHARACTERS = 36;

/** Deletes files of artifacts that were never stored or whose row is gone. */
export async function* sweepArtifacts(app: App): AsyncGenerator<void> {
  for await (const paths of batches(app.artifacts.list(before(app)))) {
    const idOf = (path: string) => basename(path).slice(0, UUID_CHARACTERS);
    const rows = await app.store.db
      .select({ path: artifacts.path })
      .from(artifacts)
      .where(inArray(artifacts.id, paths.map(idOf)));
    const known = new Set(rows.map((row) => row.path));
    const left = paths.filter((path) => !known.has(path));
    for (const path of left) await app.artifacts.remove(path);
    logRemoved(app, "removed files of deleted artifacts", left);
    yield;
  }
}

/** Folders that others clean up. */
const KEPT_SCRATCH = new Set(["sql", "cache", "lake"]);

/** Deletes leftovers in the scratch folder, and SQL process folders of earlier starts. */
export async function* sweepScratch(app: App): AsyncGenerator<void> {
  const scratch = app.scratchFolder;
  const left = [
    ...(await entriesOf(scratch)).filter(({ name }) => !KEPT_SCRATCH.has(name)).map(({ name }) => name),
    ...(await entriesOf(join(scratch, "sql")))
      .filter(({ name }) => !name.startsWith(`${process.pid}-`))
      .map(({ name }) => join("sql", name)),
  ];
  for (const name of left) {
    if (await isTouchedSince(join(scratch, name), before(app))) continue;
    await rm(join(scratch, name), { recursive: true, force: true });
    logRemoved(app, "removed temporary files", [name]);
    yield;
  }
}

export const before = ({ clock }: App) => new Date(clock.now().getTime() - LEFT_FOR_MS);

export function logRemoved({ log }: App, message: string, paths: readonly string[]): void {
  if (paths.length > 0) log.write("info", message, { files: paths.length, first: paths[0] });
}

export async function* batches(paths: AsyncIterable<string>): AsyncGenerator<string[]> {
  let batch: string[] = [];
  for await (const path of paths) {
    batch.push(path);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function isTouchedSince(path: string, limit: Date): Promise<boolean> {
  if ((await touchedAt(path)) >= limit.getTime()) return true;
  for (const entry of await entriesOf(path))
    if (await isTouchedSince(join(path, entry.name), limit)) return true;
  return false;
}
