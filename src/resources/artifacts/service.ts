import { and, desc, eq, type SQL } from "drizzle-orm";
import { InvalidInput, invalid, notFound } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/json.ts";
import { read } from "../../base/shape.ts";
import { type Context, write } from "../../context.ts";
import { countOf, totalOf } from "../../store/counts.ts";
import { contains } from "../../store/search.ts";
import { record } from "../events/service.ts";
import { actionRuns } from "../runs/table.ts";
import { openTo, refuseOthers } from "../runs/wire-private.ts";
import { insertArtifact, stageArtifact, stageFile } from "./keep.ts";
import { type ArtifactRow, artifacts } from "./table.ts";
import { type ArtifactCreate, type ArtifactQuery, FileContent } from "./wire.ts";

/** Every query here uses this condition: artifacts of other organizations don't exist. */
const mine = (ctx: Context, id: string) =>
  and(eq(artifacts.organizationId, ctx.organizationId), eq(artifacts.id, id));

/** Newest first. */
export async function listArtifacts(
  ctx: Context,
  query: ArtifactQuery,
): Promise<{ rows: ArtifactRow[]; total: number }> {
  const filters: (SQL | undefined)[] = [
    ...(query.q ? [contains(query.q, artifacts.title), openTo(ctx, artifacts.privateTo)] : []),
    ...(query.action_run_id === undefined ? [] : [eq(artifacts.actionRunId, query.action_run_id)]),
    ...(query.kind === undefined ? [] : [eq(artifacts.kind, query.kind)]),
  ];
  const where = and(eq(artifacts.organizationId, ctx.organizationId), ...filters);
  const { limit, offset } = query;
  const rows = await ctx.db
    .select()
    .from(artifacts)
    .where(where)
    .orderBy(desc(artifacts.id))
    .limit(limit)
    .offset(offset);
  const count = () =>
    filters.length === 0 ? countOf(ctx.db, ctx.organizationId, "artifacts") : ctx.db.$count(artifacts, where);
  return { rows, total: await totalOf(query, rows, count) };
}

export async function findArtifact(ctx: Context, id: string): Promise<ArtifactRow> {
  const [row] = await ctx.db.select().from(artifacts).where(mine(ctx, id));
  if (!row) throw notFound("artifact");
  return row;
}

/**
 * Adds an artifact to a run of the organization.
 * Throws `invalid` for a run that doesn't exist or for content that doesn't match its kind, and `disk_full`.
 */
export async function createArtifact(ctx: Context, input: ArtifactCreate): Promise<ArtifactRow> {
  const stage = stagerOf(ctx, input);
  const [run] = await ctx.db
    .select({ id: actionRuns.id, privateTo: actionRuns.privateTo })
    .from(actionRuns)
    .where(and(eq(actionRuns.organizationId, ctx.organizationId), eq(actionRuns.id, input.actionRunId)));
  if (!run) throw invalid(["body", "actionRunId"], "Run not found", "not_found");
  refuseOthers(ctx, run);
  const row = { ...(await stage(run.id)), privateTo: run.privateTo };
  await write(ctx, (tx) => insertArtifact(tx, row));
  return row;
}

const AT = ["body", "content"];

/** Checks the content, and returns a function that writes it. */
function stagerOf(ctx: Context, input: ArtifactCreate): (runId: string) => Promise<ArtifactRow> {
  const { kind, title = null } = input;
  const data = bare(kind, input.content ?? null);
  if (kind === "json") return (runId) => stageArtifact(ctx, runId, { kind, title, data });
  if (kind === "text") {
    if (data !== null && typeof data !== "string")
      throw invalid(AT, "The content of a text is a string", "string_type");
    return (runId) => stageArtifact(ctx, runId, { kind, title, data });
  }
  const file = readFile(data);
  return (runId) => stageFile(ctx, runId, { title, ...file });
}

/** Returns `data` of `{kind, storage, data}`, as artifacts return it, and any other content unchanged. */
function bare(kind: ArtifactCreate["kind"], content: Json): Json {
  if (!isObject(content) || Object.keys(content).length !== 3 || !("data" in content)) return content;
  return content.kind === kind && content.storage === "inline" ? (content.data ?? null) : content;
}

/** Default filename. */
const UNNAMED = "file";

/** A text becomes a file with that text. Without content, the file is empty. */
function readFile(content: Json): { fileName: string; mimeType: string; bytes: Uint8Array } {
  if (content === null)
    return { fileName: UNNAMED, mimeType: "application/octet-stream", bytes: new Uint8Array() };
  if (typeof content === "string")
    return { fileName: UNNAMED, mimeType: "text/plain; charset=utf-8", bytes: Buffer.from(content) };
  const { value, faults } = read(FileContent, content, AT);
  if (faults.length > 0) throw new InvalidInput(faults);
  const { fileName = UNNAMED, mimeType, data } = value;
  if (data.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(data)) {
    throw invalid([...AT, "data"], "The bytes of a file are in base64", "base64_parsing");
  }
  return { fileName, mimeType, bytes: Buffer.from(data, "base64") };
}

/** Deletes an artifact, and its file once that is durable. */
export async function deleteArtifact(ctx: Context, id: string): Promise<void> {
  await write(ctx, async (tx) => {
    const [row] = await tx.db.delete(artifacts).where(mine(tx, id)).returning();
    if (!row) throw notFound("artifact");
    refuseOthers(tx, row);
    const { actionRunId, kind } = row;
    const title = row.privateTo === null ? row.title : null;
    await record(tx, "artifact.deleted", { type: "artifact", id }, { actionRunId, title, kind });
    const { path } = row;
    if (path === null) return;
    tx.afterCommit(() => {
      tx.artifacts.remove(path).catch(
        // The sweeper tries again.
        (error) => tx.log.report(error, { at: "remove the file of an artifact", artifactId: id }),
      );
    });
  });
}
