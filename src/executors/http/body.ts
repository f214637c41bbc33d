import { AppError } from "../../base/errors.ts";
import { type Part, partsOf } from "../../base/http-multipart.ts";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { read as readShape } from "../../base/shape.ts";
import { isWholeTemplate } from "../../base/template.ts";
import type { NamedConnection, RunContext } from "../contract.ts";
import { connectionOf, FileReference, readFile } from "../files.ts";
import type { Definition, Request } from "./definition.ts";

/** All files of a request are in memory at the same time. */
const MAX_BYTES = 64 * 1024 * 1024;

const isReference = (value: unknown): value is FileReference =>
  readShape(FileReference, value, []).faults.length === 0;

const tooMuch = () =>
  new AppError("limit_exceeded", "The files of the request exceed 64 MiB in total. Send fewer at a time.");

type Body = Pick<Definition, "body" | "bodyType">;

/** Files referenced in the body, with their paths in it. */
function* filesIn({ body, bodyType }: Body): Generator<{ path: string[]; value: JsonObject }> {
  if (!isObject(body) || (bodyType !== undefined && bodyType !== "multipart")) return;
  if (bodyType === undefined) {
    if (Object.keys(body).length === 1 && isObject(body.file)) yield { path: ["body"], value: body };
    return;
  }
  for (const [name, field] of Object.entries(body))
    for (const [index, value] of [field].flat(1).entries())
      if (isObject(value) && isObject(value.file))
        yield { path: ["body", name, ...(Array.isArray(field) ? [String(index)] : [])], value };
}

export const bodyConnections = (definition: Body): NamedConnection[] =>
  [...filesIn(definition)].flatMap(({ path, value }) => connectionOf(value.file, [...path, "file"]));

/** Errors of files and forms that the shape can't express. */
export function bodyPartFaults(definition: Body): { path: string[]; message: string }[] {
  const { body, bodyType } = definition;
  const faults = [...filesIn(definition)].flatMap(({ path, value }) => {
    const { connectionId, artifactId } = value.file as JsonObject;
    const isOpen = [connectionId, artifactId].some((id) => typeof id === "string" && id.includes("{{"));
    if (isOpen || isReference(value.file)) return [];
    return [{ path: [...path, "file"], message: "Use {artifactId} or {connectionId, path}." }];
  });
  const isForm = bodyType === "multipart" && body !== undefined && typeof body !== "string";
  if (isForm && !isObject(body))
    faults.push({ path: ["body"], message: "Must be an object of the form's fields." });
  return faults;
}

/** The request with the files of its body read. Throws `limit_exceeded`, `definition_invalid`. */
export async function withFiles(ctx: RunContext, definition: Definition & { url: string }): Promise<Request> {
  const { bodyType, ...rest } = definition;
  const files = [...filesIn(definition)];
  if (files.length > 0) await ctx.room(MAX_BYTES);
  let left = MAX_BYTES;
  const read = async (value: JsonObject) => {
    if (!isReference(value.file))
      throw new AppError("definition_invalid", "body.file: use {artifactId} or {connectionId, path}.");
    const file = await readFile(ctx, value.file, left, tooMuch);
    left -= file.bytes.length;
    return { ...file, bytes: new Uint8Array(file.bytes) };
  };
  if (bodyType === "multipart") return { ...rest, parts: await formOf(rest.body, read) };
  const [file] = files;
  if (file) return { ...rest, file: await read(file.value) };
  return { ...rest, ...(bodyType === undefined ? {} : { bodyType }) };
}

/**
 * Returns a filled-in definition whose body is sent as it was written: with bodyType json, a text from a template is a
 * JSON string, whatever it says. A text that is written out may be JSON itself.
 */
export function withWrittenBody<D extends JsonObject>({ body: written }: JsonObject, filled: D): D {
  const { body, bodyType } = filled;
  const isValue = bodyType === "json" && typeof body === "string" && isWholeTemplate(written);
  return isValue ? { ...filled, body: JSON.stringify(body) } : filled;
}

type ReadFile = (value: JsonObject) => Promise<{ fileName: string; mimeType: string; bytes: Uint8Array }>;

async function formOf(body: Json | undefined, read: ReadFile): Promise<Part[]> {
  if (!isObject(body))
    throw new AppError("definition_invalid", "body: a multipart form is an object of its fields.");
  const parts: Part[] = [];
  for (const [name, field] of Object.entries(body)) {
    for (const value of [field].flat(1)) {
      if (!isObject(value) || !isObject(value.file)) {
        parts.push(...partsOf(name, value, false));
        continue;
      }
      const { fileName, mimeType, bytes } = await read(value);
      const { filename = fileName, contentType = mimeType } = value;
      parts.push({ name, filename: String(filename), contentType: String(contentType), bytes });
    }
  }
  return parts;
}
