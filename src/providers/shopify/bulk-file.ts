import { AppError } from "../../base/errors.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { jsonOf } from "../api/send.ts";
import { rest } from "../api/throttle.ts";
import { QUIET_MS, readChunks, textReader } from "../files/streams.ts";
import type { ShopifyLink } from "./shape.ts";

/** Number of objects per batch. */
const GROUPS = 250;
/** Consecutive interrupted downloads; each one resumes after the lines received. */
const MAX_TRIES = 5;
const FIRST_WAIT_MS = 1_000;
/** Maximum length of a line of Shopify's files. */
const MAX_LINE_CHARACTERS = 16 * 1024 * 1024;

export interface BulkFile {
  /** Null if the operation found nothing. */
  url: string | null;
  /** Expected number of lines. */
  objects: number;
  /** Requests the URL again, which is valid only for a few days. */
  freshUrl(): Promise<string | null>;
  /** The connection that lines with a parent belong to. */
  connection: string | null;
}

/**
 * The objects of a bulk operation's file, with child objects nested again. Throws `row_count_mismatch` if the number of
 * lines isn't Shopify's. Throws `upstream` with `details.reason` "ungrouped" if a child isn't next to its parent, and
 * "bulk_gone", before any rows, if the file no longer exists.
 */
export async function* readGroups(link: ShopifyLink, file: BulkFile): AsyncGenerator<JsonObject[]> {
  const { connection } = file;
  let groups: JsonObject[] = [];
  let below: JsonObject[] = [];
  for await (const line of readLines(link, file)) {
    const { __parentId: parent, ...object } = line;
    if (parent === undefined) {
      if (groups.length >= GROUPS) {
        yield groups;
        groups = [];
      }
      below = [];
      groups.push(connection === null ? object : { ...object, [connection]: { nodes: below } });
    } else if (connection !== null && groups.at(-1)?.id === parent) below.push(object);
    else {
      throw new AppError("upstream", "Shopify's file has objects without their parents.", {
        retryable: true,
        details: { reason: "ungrouped" },
      });
    }
  }
  if (groups.length > 0) yield groups;
}

/** Each line once, with as many downloads as necessary. */
async function* readLines(link: ShopifyLink, file: BulkFile): AsyncGenerator<JsonObject> {
  let { url } = file;
  let taken = 0;
  let isRenewed = false;
  for (let failures = 0; url !== null; ) {
    let reached = 0;
    try {
      const response = await link.egress.fetch(url, { signal: link.signal, timeoutMs: 0, idleMs: QUIET_MS });
      if (response.status !== 200) {
        await response.body.cancel();
        const isGone = response.status < 500 && response.status !== 429;
        if (isGone && isRenewed) throw gone(response.status, taken);
        if (isGone) {
          isRenewed = true;
          url = await file.freshUrl();
          if (url === null) throw gone(response.status, taken);
          continue;
        }
        throw broken(`answered ${response.status}`);
      }
      for await (const line of linesOf(readChunks(response.body, link.signal))) {
        if (reached++ < taken) continue;
        const object = jsonOf(line);
        if (!isObject(object)) throw broken("ended within a line");
        taken++;
        failures = 0;
        yield object as JsonObject;
      }
      if (taken >= file.objects) break;
      throw broken("ended between two lines");
    } catch (error) {
      if (!(error instanceof AppError) || !error.retryable || link.signal.aborted) throw error;
      if (++failures >= MAX_TRIES) {
        if (error.details?.reason !== "bulk_broken" || reached === 0) throw error;
        break; // the file is too short
      }
      await rest(link, FIRST_WAIT_MS * 2 ** (failures - 1));
    }
  }
  if (taken === file.objects) return;
  throw new AppError(
    "row_count_mismatch",
    `Nothing was loaded: Shopify counted ${file.objects} objects, and its file has ${taken}.`,
    { retryable: true, details: { told: file.objects, read: taken } },
  );
}

const broken = (how: string): AppError =>
  new AppError("upstream", `The file of Shopify's bulk operation ${how}.`, {
    retryable: true,
    details: { reason: "bulk_broken" },
  });

const gone = (status: number, taken: number): AppError =>
  new AppError("upstream", `The file of Shopify's bulk operation no longer exists (${status}).`, {
    ...(taken === 0 ? { details: { reason: "bulk_gone" } } : {}),
  });

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const read = textReader("The file of Shopify's bulk operation");
  let open = "";
  for await (const chunk of chunks) {
    const lines = (open + read(chunk)).split("\n");
    open = lines.pop() ?? "";
    if (open.length > MAX_LINE_CHARACTERS) throw new AppError("upstream", "Shopify's file has no lines.");
    for (const line of lines) if (line !== "") yield line;
  }
  open += read();
  if (open.trim() !== "") yield open;
}
