import { readFileSync } from "node:fs";
import { AppError, InvalidInput } from "../base/errors.ts";
import { fileReason } from "../base/file-error.ts";
import { type Json, parseJson } from "../base/json.ts";
import { plain } from "./client.ts";
import { type Host, UsageError } from "./host.ts";
import type { Api } from "./verbs.ts";

/** Value of a text flag: itself, the content of `@file`, or with `-` all of standard input. */
export async function textInput(host: Host, flag: string, word: string): Promise<string> {
  if (word === "-") return host.stdin();
  if (!word.startsWith("@")) return word;
  try {
    return readFileSync(word.slice(1), "utf8");
  } catch (cause) {
    throw new UsageError(`${flag}: couldn't read ${word.slice(1)}: ${fileReason(cause)}.`, { cause });
  }
}

/** Parses a flag's JSON as the server does. Undefined if the flag is omitted. Throws `UsageError` for invalid JSON. */
export async function jsonInput(
  host: Host,
  flag: string,
  word: string | undefined,
  parse?: (text: string) => Json,
): Promise<Json | undefined> {
  if (word === undefined) return undefined;
  const text = await textInput(host, flag, word);
  try {
    return parseJson(text, [flag], parse);
  } catch (cause) {
    const isGrammar = !(cause instanceof InvalidInput) || cause.faults[0]?.msg.startsWith("Invalid JSON");
    if (!isGrammar) throw new UsageError(cause.message, { cause });
    throw new UsageError(`${flag} requires literal JSON, @FILE, or - for standard input.`, { cause });
  }
}

/** Parses a flag's integer. */
export function numberInput(flag: string, word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  if (!/^\d{1,9}$/.test(word)) throw new UsageError(`${flag} requires a whole number.`);
  return Number(word);
}

/** Parses `-o wide`: all columns of a table, without truncation. */
export function wideInput(word: string | undefined): boolean {
  if (word !== undefined && word !== "wide") throw new UsageError("-o takes wide. For JSON, use --json.");
  return word === "wide";
}

/** Returns a required flag's value. Throws `UsageError` if it is omitted. */
export function needed(flag: string, word: string | undefined, meaning: string): string {
  if (word === undefined || word === "") throw new UsageError(`Missing flag: ${flag}, ${meaning}.`);
  return word;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const isId = (word: string) => UUID.test(word);

/** Returns an ID unchanged, and looks up the ID of a slug. */
export async function actionId(api: Api, word: string): Promise<string> {
  if (isId(word)) return word;
  return (await api.call("GET /api/v1/actions/slug/{slug}", { path: { slug: word } })).body.id;
}

export async function connectionId(api: Api, word: string): Promise<string> {
  if (isId(word)) return word;
  return (await api.call("GET /api/v1/connections/slug/{slug}", { path: { slug: word } })).body.id;
}

export async function templateId(api: Api, word: string): Promise<string> {
  if (isId(word)) return word;
  return (await api.call("GET /api/v1/templates/slug/{slug}", { path: { slug: word } })).body.id;
}

/** Parses `LAYER.DATASET`. Throws `UsageError`. */
export function datasetRef(word: string): { layer: string; dataset: string } {
  const { layer, dataset } =
    /^(?<layer>[a-z][a-z0-9_]*)\.(?<dataset>[a-z][a-z0-9_]*)$/.exec(word)?.groups ?? {};
  if (layer === undefined || dataset === undefined)
    throw new UsageError(`Invalid dataset: ${word}. Use LAYER.DATASET, such as raw.shop.`);
  return { layer, dataset };
}

const PAGE = 100;

/** Automations have no URL by slug, so the list is searched. */
export async function automationId(api: Api, word: string): Promise<string> {
  if (isId(word)) return word;
  for (let offset = 0; ; offset += PAGE) {
    const { body } = await api.call("GET /api/v1/automations", {
      query: { q: word.slice(0, 255), limit: PAGE, offset },
    });
    const found = body.automations.find(({ slug }) => slug === word);
    if (found) return found.id;
    if (!body.hasNext) throw new AppError("not_found", `Automation ${plain(word)} not found.`);
  }
}
