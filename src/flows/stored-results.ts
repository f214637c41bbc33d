import { and, asc, eq, sql } from "drizzle-orm";
import { AppError } from "../base/errors.ts";
import { isObject, type Json } from "../base/json.ts";
import { sizeText } from "../base/size.ts";
import type { App } from "../context.ts";
import { openContent } from "../resources/artifacts/content.ts";
import { type ArtifactRow, artifacts } from "../resources/artifacts/table.ts";
import { automationRunItems, type ItemsState } from "../resources/automations/table.ts";
import { actionRuns, type RunRow } from "../resources/runs/table.ts";
import type { ReadDb } from "../store/store.ts";
import { itemsOf } from "./lay-out.ts";
import type { Names } from "./names.ts";

/** Maximum size of a result that expressions read. */
export const MAX_READ_BYTES = 64 * 1024 * 1024;

/** The results of a step's items, which are read from their runs. */
export type ItemList = Pick<ItemsState, "runId" | "total"> & { key: string };

/** A step whose result isn't part of the scope: its JSON is an artifact, or consists of its items' results. */
export interface StoredStep {
  step: string;
  bytes: number;
  at: { artifactId: string } | { items: ItemList };
}

/** JSON text, or an artifact that contains it. */
export type Piece = string | ArtifactRow;

/** The JSON of a result in pieces, which aren't given if they are more than expressions read. */
export interface Pieces {
  bytes: number;
  pieces: Piece[];
}

/** Stands for a list of results that is too long for a scope. */
export const asStored = ({ runId, total, key }: ItemList, bytes: number): Json => ({
  items: { runId, total, key },
  summary: { bytes, fields: {}, large: ["items"] },
});

function storedAt(result: Json | null | undefined): StoredStep["at"] | null {
  if (!isObject(result) || !isObject(result.summary) || !Array.isArray(result.summary.large)) return null;
  if (Object.hasOwn(result, "artifactId")) return { artifactId: String(result.artifactId) };
  return isObject(result.items) ? { items: result.items as unknown as ItemList } : null;
}

/** Whether a result is only a summary, and where its JSON is. */
export const isStored = (result: Json | null | undefined): boolean => storedAt(result) !== null;

/** Returns the named steps whose results aren't part of the scope. */
export function storedSteps(steps: Json | undefined, isNamed: Names["steps"]): StoredStep[] {
  return Object.entries(isObject(steps) ? steps : {}).flatMap(([step, seen]) => {
    const result = isObject(seen) ? seen.result : null;
    const at = storedAt(result);
    if (at === null || !isNamed(step)) return [];
    return [{ step, at, bytes: Number(summaryOf(result).bytes ?? 0) }];
  });
}

const summaryOf = (result: Json | undefined) =>
  isObject(result) && isObject(result.summary) ? result.summary : {};

/** What templates and conditions see of a result: of a stored one, its small values, `artifactId` and `summary`. */
export function seenResult(result: RunRow["result"]): Json {
  if (!isObject(result) || !isStored(result)) return result;
  const { fields, large } = summaryOf(result);
  const small = Object.entries(isObject(fields) ? fields : {}).filter(
    ([name]) => !(Array.isArray(large) && large.includes(name)),
  );
  return { ...Object.fromEntries(small), ...result };
}

/** Returns a result as it is in the row of its run, without what `seenResult` added. */
export function ownResult(result: Json): Json {
  if (!isObject(result) || !isStored(result)) return result;
  const { artifactId = null, summary = null } = result;
  return { artifactId, summary };
}

/** Returns a pinned result. One that refers to an artifact that not everyone may read stays a reference. */
export async function pinnedResult(db: ReadDb, pinned: Json): Promise<Json> {
  const at = storedAt(pinned);
  if (at === null || !isObject(pinned)) return pinned;
  const [row] =
    "artifactId" in at
      ? await db
          .select({ kind: artifacts.kind, privateTo: artifacts.privateTo })
          .from(artifacts)
          .where(eq(artifacts.id, at.artifactId))
      : [];
  if (row?.kind === "json" && row.privateTo === null) return pinned;
  return { ...pinned, summary: { ...summaryOf(pinned), large: null } };
}

/**
 * Returns the JSON of a step's result in pieces. Throws `gone` if an artifact was deleted, and `result_too_large`.
 */
export async function piecesOf(
  db: ReadDb,
  organizationId: string,
  { step, at, bytes }: StoredStep,
): Promise<Piece[]> {
  if (bytes > MAX_READ_BYTES) throw tooLarge(step, bytes);
  if (!("items" in at)) return [await findStored(db, organizationId, step, at.artifactId)];
  const found = await itemPieces(db, organizationId, { step, list: at.items });
  if (found.bytes > MAX_READ_BYTES) throw tooLarge(step, found.bytes);
  return found.pieces;
}

/** Returns the artifact with the result of a step. Throws `gone` if it was deleted, and `result_too_large`. */
export async function findStored(
  db: ReadDb,
  organizationId: string,
  step: string,
  artifactId: string,
): Promise<ArtifactRow> {
  const [row] = await storedRows(db, organizationId, [artifactId]);
  if (!row) throw gone(step);
  if (row.bytes > MAX_READ_BYTES) throw tooLarge(step, row.bytes);
  return row;
}

const storedRows = (db: ReadDb, organizationId: string, ids: readonly string[]): Promise<ArtifactRow[]> =>
  db
    .select()
    .from(artifacts)
    .where(
      and(
        eq(artifacts.organizationId, organizationId),
        sql`${artifacts.id} in (select value from json_each(${JSON.stringify(ids)}))`,
      ),
    );

/** The list of the items' results, null for each that hasn't completed. Throws `gone` if an artifact was deleted. */
export async function itemPieces(
  db: ReadDb,
  organizationId: string,
  { step, list }: { step: string; list: ItemList },
): Promise<Pieces> {
  const rows = await db
    .select({ json: sql<string | null>`${actionRuns.result}` })
    .from(automationRunItems)
    .leftJoin(actionRuns, eq(actionRuns.id, automationRunItems.actionRunId))
    .where(itemsOf(list.runId, list.key))
    .orderBy(asc(automationRunItems.itemIndex));
  const results = rows.map(({ json }) => ({ json: json ?? "null", stored: storedIn(json) }));
  const bytes = results.reduce(
    (sum, { json, stored }) => sum + (stored?.bytes ?? Buffer.byteLength(json)),
    0,
  );
  if (bytes > MAX_READ_BYTES) return { bytes, pieces: [] };
  const ids = results.flatMap(({ stored }) => stored?.artifactId ?? []);
  const byId = new Map((await storedRows(db, organizationId, ids)).map((row) => [row.id, row]));
  const pieces: Piece[] = [];
  for (const { json, stored } of results) {
    const piece = stored === null ? json : byId.get(stored.artifactId);
    if (piece === undefined) throw gone(step);
    pieces.push(pieces.length === 0 ? "[" : ",", piece);
  }
  for (let at = results.length; at < list.total; at++) pieces.push(at === 0 ? "[" : ",", "null");
  return { bytes, pieces: [...pieces, pieces.length === 0 ? "[]" : "]"] };
}

/** How the JSON of a stored result begins. */
const STORED = '{"artifactId":';

/** Where the JSON of a result is, and its size, if it is only a summary. */
export function storedIn(json: string | null): { artifactId: string; bytes: number } | null {
  if (!json?.startsWith(STORED)) return null;
  const result: Json = JSON.parse(json);
  const at = storedAt(result);
  if (at === null || !("artifactId" in at)) return null;
  return { artifactId: at.artifactId, bytes: Number(summaryOf(result).bytes) };
}

/** Joins the pieces. Throws `gone` if the file of an artifact is missing. */
export async function openPieces(
  ctx: Pick<App, "artifacts" | "log">,
  pieces: readonly Piece[],
): Promise<Blob> {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined && typeof only !== "string") return openContent(ctx, only);
  const parts: (string | Uint8Array<ArrayBuffer>)[] = [];
  for (const piece of pieces)
    parts.push(typeof piece === "string" ? piece : await (await openContent(ctx, piece)).bytes());
  return new Blob(parts);
}

const tooLarge = (step: string, bytes: number) =>
  new AppError(
    "result_too_large",
    `The result of step ${step} is ${sizeText(bytes)}. Other steps can read at most ${sizeText(MAX_READ_BYTES)}.`,
  );

const gone = (step: string) =>
  new AppError("gone", `The result of step ${step} was stored in an artifact that has been deleted.`);
