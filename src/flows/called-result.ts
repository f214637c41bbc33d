import { and, eq, sql } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { measure } from "../base/measure.ts";
import { MAX_RESULT_BYTES } from "../base/summary.ts";
import { DoFirst, type WriteContext } from "../context.ts";
import { insertArtifact, stageJson } from "../resources/artifacts/keep.ts";
import { type ArtifactRow, artifacts } from "../resources/artifacts/table.ts";
import type { AutomationRunRow, StepState } from "../resources/automations/table.ts";
import { actionRuns } from "../resources/runs/table.ts";
import { warningsForCaller } from "./call-warnings.ts";
import { bytesOf, isReference } from "./item-results.ts";
import { seenBulk } from "./scope.ts";
import {
  findStored,
  isStored,
  itemPieces,
  MAX_READ_BYTES,
  openPieces,
  type Piece,
  type Pieces,
  storedIn,
} from "./stored-results.ts";

/** Maximum number of stored results that are kept until their transactions are repeated. */
const MAX_KEPT = 64;

/**
 * Returns the result of a call, with all values of the called run; a long one is an artifact of the caller. Throws
 * `gone` if an artifact of it was deleted, `quota_exceeded`, and `DoFirst`, since long values are stored before the
 * transaction.
 */
export async function calledResult(
  tx: WriteContext,
  run: AutomationRunRow,
  callerRunId: string,
): Promise<JsonObject> {
  const { id: automationRunId, status } = run;
  const warnings = warningsForCaller(run);
  const short: JsonObject = { automationRunId, status, result: run.result, ...warnings };
  const isShort = measure(run.result, MAX_RESULT_BYTES) <= MAX_RESULT_BYTES;
  const isWhole = isShort && !resultsIn(run).some(isIncomplete);
  if (isWhole || !(await isWaiting(tx, callerRunId))) return short;
  const { bytes, pieces } = await wholeOf(tx, run);
  const fields = { automationRunId, status, result: `JSON of ${bytes} bytes`, ...warnings };
  const summary = { bytes, fields, large: ["result"] };
  if (bytes > MAX_READ_BYTES) return { artifactId: null, summary };
  const head = JSON.stringify({ automationRunId, status, ...warnings }).slice(0, -1);
  const artifact = await stagedFirst(tx, run, callerRunId, [`${head},"result":`, ...pieces, "}"]);
  await insert(tx, artifact);
  return { artifactId: artifact.id, summary: { ...summary, bytes: artifact.bytes } };
}

async function isWaiting(tx: WriteContext, runId: string): Promise<boolean> {
  const rows = await tx.db
    .select({ id: actionRuns.id })
    .from(actionRuns)
    .where(and(eq(actionRuns.id, runId), eq(actionRuns.status, "waiting")));
  return rows.length > 0;
}

/** The transaction goes on if there is no room. */
async function insert(tx: WriteContext, artifact: ArtifactRow): Promise<void> {
  try {
    await insertArtifact(tx, artifact);
  } catch (error) {
    if (error instanceof AppError && error.code === "quota_exceeded")
      await tx.db.delete(artifacts).where(eq(artifacts.id, artifact.id));
    throw error;
  }
}

/** Stores the JSON before the transaction, which is then repeated. */
async function stagedFirst(
  tx: WriteContext,
  { id, privateTo }: AutomationRunRow,
  callerRunId: string,
  pieces: readonly Piece[],
): Promise<ArtifactRow> {
  const { calledResults } = tx;
  const key = `${id} ${hashOf(pieces)}`;
  const known = calledResults.get(key);
  if (known === undefined)
    throw new DoFirst(async () => {
      try {
        const json = await openPieces(tx, pieces);
        calledResults.set(key, await stageJson({ ...tx, privateTo }, callerRunId, { title: "Result", json }));
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "gone") throw error;
        calledResults.set(key, error);
      }
      for (const oldest of calledResults.keys()) {
        if (calledResults.size <= MAX_KEPT) break;
        calledResults.delete(oldest);
      }
    });
  tx.afterCommit(() => calledResults.delete(key));
  if (known instanceof AppError) throw known;
  return known;
}

/** A repeated transaction can end the run with another result. */
function hashOf(pieces: readonly Piece[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const piece of pieces) hash.update(typeof piece === "string" ? piece : piece.id);
  return hash.digest("hex");
}

/** The results of the run's steps, as far as they are part of its own. */
const resultsIn = ({ steps, result }: AutomationRunRow): Json[] => {
  if (steps.length === 1 || !isObject(result)) return [result ?? null];
  return Object.values(result);
};

const isIncomplete = (result: Json): boolean =>
  isStored(result) || (Array.isArray(result) && result.some((item) => isStored(item) || isReference(item)));

/** The JSON of a run's result with all values. Without pieces if there are too many bytes. */
async function wholeOf(tx: WriteContext, run: AutomationRunRow): Promise<Pieces> {
  const pieces: Piece[] = [];
  let bytes = 0;
  const isOnly = run.steps.length === 1;
  for (const state of run.steps) {
    const own = await ofStep(tx, state);
    if (own === null) continue;
    if (!isOnly) pieces.push(pieces.length === 0 ? "{" : ",", `${JSON.stringify(state.key)}:`);
    pieces.push(...own.pieces);
    bytes += own.bytes;
    if (bytes > MAX_READ_BYTES) return { bytes, pieces: [] };
  }
  if (isOnly) return { bytes, pieces: pieces.length === 0 ? ["null"] : pieces };
  return { bytes, pieces: pieces.length === 0 ? ["{}"] : [...pieces, "}"] };
}

/** The JSON of a step's result. Null for a step that has none. */
async function ofStep(
  tx: WriteContext,
  { key, status, items, pinned, actionRunId }: StepState,
): Promise<Pieces | null> {
  if (items && !items.bulk) {
    if (status !== "completed" && status !== "failed") return null;
    const { runId, total } = items;
    const bytes = await bytesOf(tx.db, runId, key);
    if (bytes > MAX_READ_BYTES) return { bytes, pieces: [] };
    return itemPieces(tx.db, tx.organizationId, { step: key, list: { runId, total, key } });
  }
  if (pinned !== undefined) return ofText(JSON.stringify(pinned));
  if (actionRunId === null || (status !== "completed" && !items)) return null;
  const [row] = await tx.db
    .select({ json: sql<string | null>`${actionRuns.result}` })
    .from(actionRuns)
    .where(and(eq(actionRuns.organizationId, tx.organizationId), eq(actionRuns.id, actionRunId)));
  if (!row?.json) return ofText("null");
  const json = items?.bulk
    ? JSON.stringify(seenBulk({ result: JSON.parse(row.json) }, items.bulk).result ?? null)
    : row.json;
  const stored = storedIn(json);
  if (stored === null) return ofText(json);
  const { bytes, artifactId } = stored;
  if (bytes > MAX_READ_BYTES) return { bytes, pieces: [] };
  return { bytes, pieces: [await findStored(tx.db, tx.organizationId, key, artifactId)] };
}

const ofText = (json: string): Pieces => ({ bytes: Buffer.byteLength(json), pieces: [json] });
