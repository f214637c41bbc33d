import { AppError } from "../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../base/json.ts";
import { UUID } from "../base/shape.ts";
import type { ReadApi } from "./contract.ts";
import { type RecordedRequest, readRecorded } from "./recorded.ts";

const MAX_ENTRIES = 20_000;

/** Whether this is an HTTP archive (HAR 1.2), as saved by browsers. */
export const isHar = (value: Json): value is JsonObject =>
  isObject(value) && isObject(value.log) && Array.isArray(value.log.entries);

/** The endpoints that a browser called, without pages, scripts and images. Throws `bad_request`. */
export function readHar(document: Json, baseUrl: string | null): ReadApi {
  const entries = isHar(document) && isObject(document.log) ? document.log.entries : null;
  if (!Array.isArray(entries))
    throw new AppError("bad_request", "Not a valid HAR file: log.entries is missing.");
  const requests = entries.slice(0, MAX_ENTRIES).flatMap((entry) => requestOf(entry) ?? []);
  return readRecorded(requests, "har", { baseUrl, title: null });
}

/** Content types of API responses; a response without a type may also be one. */
const OF_AN_API = /^$|[/+](json|xml|x-ndjson|grpc-web)|^text\/(plain|csv|event-stream)/i;

function requestOf(entry: Json): RecordedRequest | null {
  if (!isObject(entry) || !isObject(entry.request)) return null;
  const { method, url, headers, postData } = entry.request;
  if (typeof method !== "string" || typeof url !== "string" || method === "OPTIONS") return null;
  const content = isObject(entry.response) && isObject(entry.response.content) ? entry.response.content : {};
  const type = typeof content.mimeType === "string" ? content.mimeType : "";
  if (!OF_AN_API.test(type) && /^(GET|HEAD)$/i.test(method)) return null;
  return {
    name: null,
    description: null,
    method,
    url: withPlaceholders(url),
    headers: pairs(headers),
    body: bodyOf(postData),
    hints: [],
  };
}

function bodyOf(postData: Json | undefined): RecordedRequest["body"] {
  if (!isObject(postData)) return null;
  const type = typeof postData.mimeType === "string" ? postData.mimeType : "";
  const params = Array.isArray(postData.params) ? postData.params : [];
  const fields = pairs(
    params.map((each) => (isObject(each) && each.fileName !== undefined ? { ...each, value: "@" } : each)),
  );
  if (fields.length > 0) return { type, fields };
  return typeof postData.text === "string" && postData.text !== "" ? { type, text: postData.text } : null;
}

function pairs(list: Json | undefined): [string, string][] {
  return (Array.isArray(list) ? list : []).flatMap((each): [string, string][] =>
    isObject(each) && typeof each.name === "string" ? [[each.name, String(each.value ?? "")]] : [],
  );
}

const LONG_ID = /^(?=[^/]*\d)[A-Za-z0-9_-]{20,}$/;

/** Numbers and IDs in a recorded path become placeholders: `/orders/42` is `/orders/{orders_id}`. */
function withPlaceholders(address: string): string {
  const url = URL.parse(address);
  if (!url) return address;
  const parts = url.pathname.split("/");
  const named = parts.map((part, index) => {
    if (!/^\d+$/.test(part) && !UUID.test(part) && !LONG_ID.test(part)) return part;
    const before = (parts[index - 1] ?? "").replace(/[^A-Za-z0-9]+/g, "_");
    return `{${/^[A-Za-z]/.test(before) ? `${before}_id` : "id"}}`;
  });
  return `${url.origin}${named.join("/")}${url.search}`;
}
