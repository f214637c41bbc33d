import { type Chore, doChore } from "../base/chore.ts";
import { AppError } from "../base/errors.ts";
import { isObject, type Json } from "../base/json.ts";
import { openFairSemaphore } from "../base/semaphore.ts";
import { type ContentType, readContent } from "./content.ts";
import type { ReadApi } from "./contract.ts";
import { parseDocument } from "./document.ts";
import { isOpenApi, readOpenApi } from "./openapi.ts";
import { MAX_DOCUMENTS } from "./openapi-refs.ts";

/** Longer texts are read in a child process: a few thousand characters of YAML take as long as a request. */
const MAX_HERE_CHARACTERS = 8 * 1024;
/** Detects references and aliases, by which a short text can expand to a long one, and escapes of `$`. */
const UNFOLDS = /[$&]|\\[xuU]0*24/;

/** Fetches another document that a description refers to. Throws if it can't be read. */
type FetchText = (url: string) => Promise<string>;

/** Reads untrusted texts off the main thread, because their expanded size isn't known in advance. */
export interface ApiReader {
  /** As `readContent`. */
  content(text: string, type: ContentType, baseUrl: string | null): Promise<ReadApi | null>;
  /** As `readOpenApi`; null for a document that isn't a description. */
  description(text: string, url: string, fetchText: FetchText): Promise<ReadApi | null>;
  /** Descriptions listed in an API catalog (RFC 9727); null if it isn't one. */
  links(text: string): Promise<string[] | null>;
}

/** Another document, or why it can't be read. */
type Other = { text: string } | { fault: string };

type Job =
  | { kind: "content"; text: string; type: ContentType; baseUrl: string | null }
  | { kind: "description"; text: string; url: string; others: Record<string, Other> }
  | { kind: "links"; text: string };

/** `needs`: URLs of documents that have to be fetched first. */
type Told = { api: ReadApi | null } | { needs: string[] } | { links: string[] | null };

const READ: Chore = {
  word: "__api",
  timeoutMs: 20_000,
  maxResidentBytes: 1024 * 1024 * 1024,
  tooMuch: (why) => new AppError("bad_request", `The document takes ${why} to read. Split it.`),
};

/** Maximum number of concurrent child processes, because of their memory. */
const readers = openFairSemaphore(4, "descriptions of APIs");

/** Reads in child processes started by `self`. Throws the child's error, the signal's reason, and `cancelled`. */
export function apiReader(self: readonly string[], signal: AbortSignal, organizationId = ""): ApiReader {
  const ask = async (job: Job): Promise<Told> => {
    if (job.text.length <= MAX_HERE_CHARACTERS && !UNFOLDS.test(job.text)) return answer(job);
    const leave = await readers.enter(signal, { organizationId });
    const reading = await doChore(self, READ, job, signal).finally(leave);
    if (isObject(reading) && typeof reading.fault === "string")
      throw new AppError("bad_request", reading.fault);
    return reading as unknown as Told;
  };
  return {
    async content(text, type, baseUrl) {
      const reading = await ask({ kind: "content", text, type, baseUrl });
      return "api" in reading ? reading.api : null;
    },
    async description(text, url, fetchText) {
      const others: Record<string, Other> = {};
      for (;;) {
        const reading = await ask({ kind: "description", text, url, others });
        if (!("needs" in reading)) return "api" in reading ? reading.api : null;
        for (const needed of reading.needs) others[needed] = await textOrFault(needed, fetchText);
      }
    },
    async links(text) {
      const reading = await ask({ kind: "links", text });
      return "links" in reading ? reading.links : null;
    },
  };
}

async function textOrFault(url: string, fetchText: FetchText): Promise<Other> {
  try {
    return { text: await fetchText(url) };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

async function answer(job: Job): Promise<Told> {
  switch (job.kind) {
    case "content":
      return { api: await readContent(job.text, job.type, job.baseUrl) };
    case "links":
      return { links: linksIn(await parseDocument(job.text).catch(() => null)) };
    case "description": {
      const document = await parseDocument(job.text);
      if (!isOpenApi(document)) return { api: null };
      const needs: string[] = [];
      const api = await readOpenApi(document, job.url, async (url) => {
        const other = job.others[url];
        if (other && "text" in other) return parseDocument(other.text);
        if (other) throw new Error(other.fault);
        if (Object.keys(job.others).length + needs.length >= MAX_DOCUMENTS)
          throw new Error(`a description can have at most ${MAX_DOCUMENTS} other documents`);
        needs.push(url);
        throw new Error("it is not there yet");
      });
      return needs.length > 0 ? { needs } : { api };
    }
  }
}

const MAX_LINKS = 100;

function linksIn(document: Json): string[] | null {
  const sets = isObject(document) && Array.isArray(document.linkset) ? document.linkset : [];
  if (sets.length === 0) return null;
  return sets
    .flatMap((set) => (isObject(set) && Array.isArray(set["service-desc"]) ? set["service-desc"] : []))
    .flatMap((link) => (isObject(link) && typeof link.href === "string" ? [link.href] : []))
    .slice(0, MAX_LINKS);
}

/** The child process: reads a request from standard input, writes the result or error and returns the exit code. */
export async function readerChild(): Promise<number> {
  const job: Job = await Bun.stdin.json();
  const reading = await answer(job).catch((error) => {
    if (error instanceof AppError && error.code === "bad_request") return { fault: error.message };
    throw error;
  });
  await Bun.write(Bun.stdout, JSON.stringify(reading));
  return 0;
}
