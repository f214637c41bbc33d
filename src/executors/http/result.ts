import { AppError } from "../../base/errors.ts";
import { hideInBytes, hideInCut, hideSecrets, unmasked } from "../../base/hide.ts";
import { bytesOf, isTooDeep, type Reply, readBody } from "../../base/http-message.ts";
import { type SearchLimits, SearchTooMuch, searchJson, WHOLE_SEARCH } from "../../base/jmespath.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { hasLongNumbers, lossless, parseExact } from "../../base/json-numbers.ts";
import { repeatedKeys } from "../../base/repeated-keys.ts";
import { sizeText } from "../../base/size.ts";
import { MAX_READABLE_BYTES, type Summary, summaryOf } from "../../base/summary.ts";
import type { Compute } from "../../compute/contract.ts";
import type { RunContext } from "../contract.ts";

/** Responses up to this size are parsed in the server. `SEARCH_HERE` limits what is searched in them. */
const MAX_PARSED_BYTES = 1024 * 1024;
const MAX_SEARCHED_BYTES = 256 * 1024;
const SEARCH_HERE: SearchLimits = { ms: 15, size: 1024 * 1024 };
/** Number of lists, objects and values: each takes far more memory than its few bytes of text. */
const MAX_VALUES = 4_000_000;

/** Location of a response's bytes, and its media type. */
interface Page {
  size: number;
  type: string;
  /** Truncated JSON isn't valid. */
  isCut: boolean;
}

const pageOf = ({ bytes, headers }: Reply, isCut: boolean): Page => ({
  size: bytes,
  type: headers["content-type"] ?? "",
  isCut,
});

/** The paths that lead from a page to the next one. */
export interface NextPageWork {
  page: Page;
  itemsPath: string | null;
  cursorPath: string | null;
  hasNextPath: string | null;
  /** The paths don't see them. A link or cursor that contains some is used as it is. */
  secrets: readonly string[];
}

export type NextPage = {
  /** Null if the page isn't a list and no path to its items is known. */
  items: number | null;
  /** Null if there is none. */
  cursor: string | number | null;
  /** Null if unknown. */
  hasNext: boolean | null;
};

/** The input of a result. */
export interface HttpWork {
  status: number;
  headers: Record<string, string>;
  pages: Page[];
  /** The response was longer than what was read. */
  truncated: boolean;
  isPaged: boolean;
  itemsPath: string | null;
  responseExtract: string | null;
  /** Neither the result nor the extracted values contain them. */
  secrets: string[];
}

/** The result of an `http_request`. */
export type CallResult = {
  status: number;
  headers: Record<string, string>;
  body: Json;
  extracted: Json;
  pages: number;
  bytes: number;
  truncated: boolean;
};

/** A result. If it is long, its JSON and a summary. */
export type HttpOutput =
  | { result: CallResult }
  | { result: JsonObject; whole: { json: Uint8Array; summary: Summary } };

/** Which service runs a computation, and for whom. */
export interface By {
  compute: Compute;
  organizationId: string;
  signal: AbortSignal;
  /** Reports what of a response isn't in its result. */
  warn?(text: string): void;
}

export const byOf = ({
  compute,
  signal,
  run,
  log,
}: Pick<RunContext, "compute" | "signal" | "log"> & { run: { organizationId: string } }): By => ({
  compute,
  signal,
  organizationId: run.organizationId,
  warn: (text) => log("warn", text),
});

const isSearched = ({ responseExtract, itemsPath }: Pick<HttpWork, "responseExtract" | "itemsPath">) =>
  responseExtract !== null || itemsPath !== null;

/** Returns the result of responses: created here if that is quick, otherwise in a child process. */
export async function makeResult(
  by: By,
  work: Omit<HttpWork, "pages" | "truncated">,
  replies: readonly Reply[],
): Promise<HttpOutput> {
  const truncated = replies.at(-1)?.truncated ?? false;
  const pages = replies.map((reply) => pageOf(reply, truncated && !work.isPaged));
  const whole: HttpWork = { ...work, truncated, pages };
  const pieces = replies.flatMap((reply) => reply.pieces);
  const bytes = replies.reduce((sum, reply) => sum + reply.bytes, 0);
  const here = tryHere(bytes, isSearched(work), () => resultOf(whole, bytesOf(pieces), SEARCH_HERE));
  if (here) {
    warnOfRepeated(by, here.repeated);
    return { result: here.result };
  }
  const input = whole as unknown as JsonObject;
  const { output, bytes: json } = await by.compute.run({ name: "http_result", input, pieces, tooMuch }, by);
  const { repeated, summary } = output as unknown as { repeated: Repeated; summary: Summary };
  warnOfRepeated(by, repeated);
  if (json.length <= MAX_PARSED_BYTES) return { result: JSON.parse(Buffer.from(json).toString()) };
  return { result: summary.fields, whole: { json, summary } };
}

/** Keys that objects in responses have more than once, with the paths of the first ones. */
interface Repeated {
  count: number;
  paths: string[];
}

const PATHS_SHOWN = 3;

function warnOfRepeated(by: By, { count, paths }: Repeated): void {
  if (count === 0) return;
  const shown = paths.join(", ") + (count > paths.length ? ", …" : "");
  by.warn?.(
    `Objects in the response have a key twice (${count} times: ${shown}). Only the last value is in the result; saveAs keeps the response as it is.`,
  );
}

/** The values in a response that lead to the next page, found while the result is created. */
export async function findNext(by: By, paths: Omit<NextPageWork, "page">, reply: Reply): Promise<NextPage> {
  const work = { ...paths, page: pageOf(reply, false) };
  const { pieces } = reply;
  const here = tryHere(reply.bytes, true, () => nextPageIn(work, bytesOf(pieces), SEARCH_HERE));
  if (here) return here;
  const input = work as unknown as JsonObject;
  return (await by.compute.run({ name: "http_next_page", input, pieces, tooMuch }, by))
    .output as unknown as NextPage;
}

/** Returns what an expression finds in parsed JSON. Null without an expression. */
export async function search(by: By, body: Json, responseExtract: string | null): Promise<Json> {
  if (responseExtract === null) return null;
  const pieces = [Buffer.from(JSON.stringify(body))];
  const page = {
    pieces,
    bytes: pieces[0]?.length ?? 0,
    headers: { "content-type": "application/json" },
    truncated: false,
    isGarbled: false,
  };
  const work = { status: 200, headers: {}, isPaged: false, itemsPath: null, responseExtract, secrets: [] };
  return small(await makeResult(by, work, [{ ...page, status: 200, url: "" }])).extracted;
}

/** Returns a result that is parsed immediately. Throws `response_too_large` for a long one. */
export function small(made: HttpOutput): CallResult {
  if ("whole" in made) throw tooMuch("too much memory");
  return made.result;
}

/** Null if it is too much work for the server's thread. */
function tryHere<T>(bytes: number, isSearched: boolean, work: () => T): T | null {
  if (bytes > (isSearched ? MAX_SEARCHED_BYTES : MAX_PARSED_BYTES)) return null;
  try {
    return work();
  } catch (error) {
    if (error instanceof SearchTooMuch) return null;
    throw error;
  }
}

const tooMuch = (why: string) =>
  new AppError("response_too_large", `The response takes ${why} to read. Request less at a time.`);

const resultTooLarge = (bytes: number) =>
  new AppError(
    "result_too_large",
    `The result is ${sizeText(bytes)}. The limit is ${sizeText(MAX_READABLE_BYTES)}. Request less, or keep the response as a file with saveAs.`,
  );

export const tooLong = (what: string) =>
  new AppError(
    "response_too_large",
    `${what} is longer than maxBytes, so it can't be read as JSON. Raise maxBytes.`,
  );

export const nextPageJob = (work: NextPageWork, bytes: Buffer) => ({
  output: nextPageIn(work, bytes, WHOLE_SEARCH),
  bytes: new Uint8Array(),
});

export function resultJob(work: HttpWork, bytes: Buffer) {
  const { result, repeated } = resultOf(work, bytes, WHOLE_SEARCH);
  const json = Buffer.from(JSON.stringify(result));
  if (json.length > MAX_READABLE_BYTES) throw resultTooLarge(json.length);
  return { output: { repeated: { ...repeated }, summary: { ...summaryOf(result) } }, bytes: json };
}

function nextPageIn(
  { page, itemsPath, cursorPath, hasNextPath, secrets }: NextPageWork,
  bytes: Buffer,
  limits: SearchLimits,
): NextPage {
  const read = (from: Buffer) => exactIn(page, from) ?? bodyIn(page, from).body;
  const body = withoutEchoes(page, read(hideInBytes(bytes, secrets)), secrets);
  const items = itemsIn(body, itemsPath, limits);
  const cursor = cursorPath === null ? null : lossless(searchJson(body, cursorPath, limits));
  const next = hasNextPath === null ? null : searchJson(body, hasNextPath, limits);
  const isNone = cursor === null || cursor === "" || cursor === false;
  if (!isNone && typeof cursor !== "string" && typeof cursor !== "number") {
    const message = "The cursor of the next page is neither a string nor a number. Check cursorPath.";
    throw new AppError("upstream", message);
  }
  const sent = typeof cursor === "string" ? unmasked(cursor, () => read(bytes), secrets) : cursor;
  if (cursor !== null && sent === null) {
    const message =
      "The next page contains credentials in a text that cursorPath computes. Let it find the text as it is in the response.";
    throw new AppError("upstream", message);
  }
  return {
    items: items?.length ?? null,
    cursor: isNone ? null : sent,
    hasNext: hasNextPath === null ? null : Array.isArray(next) ? next.length > 0 : Boolean(next),
  };
}

/** Whether a page has no body, such as with 204, or a null where its list would be, or above it. */
function isEmptyAt(body: Json, itemsPath: string): boolean {
  if (body === null || (typeof body === "string" && body.trim() === "")) return true;
  if (!/^\w+([.]\w+)*$/.test(itemsPath)) return false;
  let value: Json | undefined = body;
  for (const name of itemsPath.split(".")) {
    value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    if (value === undefined || value === null) return value === null;
  }
  return false;
}

/**
 * Returns the items of one page. Null if the page isn't a list and no path to its items is known. Throws `upstream` if
 * the path finds nothing, since the page may be an error rather than the last one.
 */
function itemsIn(body: Json, itemsPath: string | null, limits: SearchLimits): Json[] | null {
  const found = itemsPath === null ? body : searchJson(body, itemsPath, limits);
  if (Array.isArray(found)) return found;
  if (itemsPath === null) return null;
  if (found !== null) return [found];
  if (isEmptyAt(body, itemsPath)) return [];
  const shape = isObject(body) ? `an object with ${Object.keys(body).slice(0, 20).join(", ")}` : "no object";
  throw new AppError(
    "upstream",
    `A page has nothing at itemsPath ${JSON.stringify(itemsPath)}; it is ${shape.slice(0, 500)}. Where an empty page may leave out its list, write ${JSON.stringify(`${itemsPath} || \`[]\``)}.`,
  );
}

function resultOf(
  work: HttpWork,
  bytes: Buffer,
  limits: SearchLimits,
): { result: CallResult; repeated: Repeated } {
  const { status, headers, pages, truncated, isPaged, secrets } = work;
  let at = 0;
  const exact: (Json | null)[] = [];
  const repeated: Repeated = { count: 0, paths: [] };
  const unread: (AppError | null)[] = [];
  const bodies = pages.map((page) => {
    at += page.size;
    const safeBytes = hideInBytes(bytes.subarray(at - page.size, at), secrets); // also in bytes that aren't valid text
    const { body: parsed, encoding } = bodyIn(page, safeBytes);
    unread.push(encoding === "json" || status >= 300 ? null : unreadFault(page, parsed));
    if (typeof parsed === "object" && parsed !== null)
      for (const { path } of repeatedKeys(safeBytes.toString(), parsed))
        if (++repeated.count <= PATHS_SHOWN) repeated.paths.push(hideSecrets(path, secrets));
    const body = withoutEchoes(page, parsed, secrets);
    const found = isSearched(work) ? exactIn(page, safeBytes) : null;
    exact.push(found && withoutEchoes(page, found, secrets));
    return body;
  });
  const last = bodies.at(-1) ?? null;
  const lists = bodies.every(Array.isArray);
  const result = {
    status,
    headers: hideSecrets(headers, secrets),
    body: isPaged ? (lists ? bodies.flat(1) : bodies) : last,
    extracted: exact.every((body) => body === null)
      ? extract(work, bodies, unread, limits)
      : lossless(
          extract(
            work,
            bodies.map((body, index) => exact[index] ?? body),
            unread,
            limits,
          ),
        ),
    pages: pages.length,
    bytes: at,
    truncated,
  };
  return { result, repeated };
}

/** Some servers echo the request with its credentials, which may be cut off at the end. */
const withoutEchoes = ({ isCut }: Page, body: Json, secrets: readonly string[]): Json =>
  isCut && typeof body === "string" ? hideInCut(body, secrets) : hideSecrets(body, secrets);

/**
 * With several pages, their items together, or the expression's result of each page, with lists joined. `unread` has the
 * error for each page that isn't JSON.
 */
function extract(
  { truncated, isPaged, itemsPath, responseExtract }: HttpWork,
  bodies: readonly Json[],
  unread: readonly (AppError | null)[],
  limits: SearchLimits,
): Json {
  const until = performance.now() + limits.ms;
  const search = (body: Json, path: string, fault: AppError | null = null) => {
    const found = searchJson(body, path, { ...limits, ms: Math.max(0, until - performance.now()) });
    if (found === null && fault) throw fault;
    return found;
  };
  if (isPaged && itemsPath !== null) {
    const items = bodies.flatMap((body) => itemsIn(body, itemsPath, limits) ?? []);
    return responseExtract === null ? items : search(items, responseExtract);
  }
  if (responseExtract === null) return null;
  if (isPaged) return bodies.flatMap((body, index) => search(body, responseExtract, unread[index]) ?? []);
  if (truncated) throw tooLong("The reply");
  return search(bodies.at(-1) ?? null, responseExtract, unread.at(-1));
}

/** The error if an expression finds nothing in a body that isn't read as JSON. Null for an empty one, such as with 204. */
function unreadFault({ type }: Page, body: Json): AppError | null {
  if (typeof body !== "string" || body.trim() === "") return null;
  const [mediaType = ""] = type.slice(0, 100).split(";");
  const why =
    /json/i.test(mediaType) && isTooDeep(body)
      ? "has more than 64 levels"
      : `isn't JSON (${mediaType.trim() || "no Content-Type"})`;
  return new AppError("upstream", `The response ${why}, so responseExtract can't be applied.`);
}

/** The body with long numbers preserved, for expressions that compare them. Null if it has no long ones. */
const exactIn = ({ type, isCut }: Page, bytes: Buffer): Json | null =>
  hasLongNumbers(bytes.toString("latin1")) ? readBody(bytes, type, isCut, parseExact).body : null;

function bodyIn({ type, isCut }: Page, bytes: Buffer): ReturnType<typeof readBody> {
  if (bytes.length > MAX_PARSED_BYTES) checkValues(bytes);
  return readBody(bytes, type, isCut);
}

/** Throws `response_too_large` for JSON that would take much more memory than it is long. */
function checkValues(bytes: Uint8Array): void {
  let values = 0;
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i];
    if (c === 0x22) {
      for (i++; i < bytes.length && bytes[i] !== 0x22; i++) if (bytes[i] === 0x5c) i++;
    } else if ((c === 0x2c || c === 0x5b || c === 0x7b) && ++values > MAX_VALUES) {
      const message = `The reply has more than ${MAX_VALUES / 1e6} million values, too many to be read as JSON. Ask for fewer at a time.`;
      throw new AppError("response_too_large", message);
    }
  }
}
