import { exactJson } from "../src/base/json-numbers.ts";
import { readEvents } from "../src/base/sse.ts";
import { base } from "./base.ts";
import type { Call, CallInput, Reply } from "./calls.ts";
import { ofBrowser, ofTab } from "./storage.ts";
import { forgetTags, rememberTag, type Stamped, tagOf } from "./tags.ts";
import { serverSentence, t } from "./texts/text.ts";

/** A validation error with its location: `["body", "definition", "url"]`. */
export interface Fault {
  readonly loc: readonly string[];
  readonly msg: string;
  readonly type: string;
}

/** The resource isn't in the state that `If-Match` names. */
export const CHANGED = "changed_meanwhile";

/** Error of the API, or `unreachable` without a response. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly faults: readonly Fault[];
  readonly correlationId: string | null;

  constructor(status: number, body: unknown, correlationId: string | null) {
    const detail = (body as { detail?: unknown } | null)?.detail;
    const faults = Array.isArray(detail)
      ? (detail as Fault[]).map((fault) => ({ ...fault, msg: serverSentence(fault.msg) }))
      : [];
    const messages = faults
      .map(({ loc, msg }) => `${loc.slice(1).join(".") || t("Input")}: ${msg}`)
      .join("; ");
    const code = (body as { code?: string } | null)?.code;
    super(
      code === CHANGED
        ? t(
            "Someone else changed this while you were working on it. Try again to apply your change to the current version.",
          )
        : typeof detail === "string"
          ? serverSentence(detail)
          : messages || t("The server returned {status}.", { status }),
    );
    this.status = status;
    this.code = code ?? (faults.length > 0 ? "invalid" : "unreachable");
    this.faults = faults;
    this.correlationId = correlationId;
  }
}

const noReply = () => t("Couldn't reach the server.");

const ORGANIZATION = "weir.organization";

/** Organization of this tab, whatever other tabs choose later. Null until known. */
let chosen = ofTab.get(ORGANIZATION) ?? ofBrowser.get(ORGANIZATION);

/** Only for this tab. Null for the server's default. */
export function openOrganization(id: string | null): void {
  chosen = id;
  ofTab.set(ORGANIZATION, id);
}

if (chosen !== null) openOrganization(chosen);

/** Keeps a tab in the organization that it shows. */
export function keepOrganization(id: string): void {
  if (chosen === null) openOrganization(id);
}

/** Stored for this tab, and for tabs that are opened later. */
export function chooseOrganization(id: string | null): void {
  openOrganization(id);
  ofBrowser.set(ORGANIZATION, id);
}

/** User that this tab shows. Null until known. */
let user: string | null = null;

/** From now on, the server rejects requests of this tab if someone else has signed in (`other_user`). */
export function showUser(id: string): void {
  user = id;
}

/** The user and the organization that this tab shows. */
export const shown = () => ({ user, organization: chosen });

export const hasOrganization = (): boolean => chosen !== null;

/** Goes back to the server's default, in this tab and in later ones. */
export function leaveOrganization(): void {
  if (ofBrowser.get(ORGANIZATION) === chosen) ofBrowser.set(ORGANIZATION, null);
  openOrganization(null);
}

/**
 * `ended`: the session has ended. `old`: the last sign-in is too long ago for this request. `other`: someone else has
 * signed in in this browser.
 */
export type SessionFault = "ended" | "old" | "other";

type Listener = (fault: SessionFault) => void;
let onSignedOut: Listener = () => undefined;

/** Called when a response says that the user has to sign in or prove their identity again, or is someone else. */
export function whenSignedOut(listener: Listener): void {
  onSignedOut = listener;
}

/** Calls with a password or a code, where a wrong one returns 401 too. */
const PROVING: readonly string[] = [
  "POST /api/v1/auth/login",
  "POST /api/v1/auth/confirm",
  "POST /api/v1/users/me/password",
  "DELETE /api/v1/users/me/totp",
] satisfies readonly Call[];

interface Parts {
  path?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
}

interface Options {
  signal?: AbortSignal;
  /** Sent unchanged, instead of a JSON body. */
  raw?: Blob;
  headers?: Record<string, string>;
  /**
   * State that a change is based on. If the resource has changed since, the change is rejected. Default: the latest
   * state read.
   */
  basedOn?: Stamped | null;
  /** Call that reads the resource of `If-Match`, if it isn't the called one. */
  matches?: Call;
  /** Error status whose body is still the operation's response. */
  alsoReplies?: number;
}

/** URL of a call, with its path parameters and query. */
function addressOf(call: Call, { path = {}, query = {} }: Parts): string {
  const template = call.slice(call.indexOf(" ") + 1);
  const address =
    base + template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  const text = search.toString();
  return text === "" ? address : `${address}?${text}`;
}

let firstReplyAt: string | null = null;

/** Time of the server's first response by its own clock, to the second. Null if unknown. */
export const whenFirstReplied = (): string | null => firstReplyAt;

const CHANGES = ["PATCH", "PUT", "DELETE"];

async function send(call: Call, input: Parts, options: Options): Promise<Response> {
  const hasBody = input.body !== undefined;
  const method = call.slice(0, call.indexOf(" "));
  const address = addressOf(call, input);
  const { matches, basedOn } = options;
  const guarded = matches ? addressOf(matches, { path: input.path ?? {} }) : address;
  const tag = matches || CHANGES.includes(method) ? tagOf(guarded, basedOn) : undefined;
  const reply = await fetch(address, {
    method,
    signal: options.signal ?? null,
    headers: {
      ...(hasBody ? { "content-type": "application/json" } : {}),
      ...(options.raw ? { "content-type": "application/octet-stream" } : {}),
      ...(chosen ? { "x-organization-id": chosen } : {}),
      ...(user ? { "x-expected-user-id": user } : {}),
      ...(tag === undefined ? {} : { "if-match": tag }),
      ...options.headers,
    },
    ...(hasBody
      ? { body: call === "POST /api/v1/query" ? exactJson(input.body) : JSON.stringify(input.body) }
      : options.raw
        ? { body: options.raw }
        : {}),
  }).catch((cause: unknown) => {
    if (options.signal?.aborted) throw cause;
    throw new ApiError(0, { detail: noReply(), code: "unreachable" }, null);
  });
  firstReplyAt ??= reply.headers.get("date");
  if (reply.status === 404 || (method === "DELETE" && reply.ok)) forgetTags(address);
  if (reply.ok || reply.status === options.alsoReplies) return reply;
  const body: unknown = await reply.json().catch(() => null);
  const error = new ApiError(reply.status, body, reply.headers.get("x-correlation-id"));
  if (error.code === "sign_in_again") onSignedOut("old");
  else if (error.code === "other_user") onSignedOut("other");
  else if (error.status === 401 && !PROVING.includes(call)) onSignedOut("ended");
  throw error;
}

/** Calls an operation of the API and returns its response. Throws `ApiError`. */
export async function call<K extends Call>(
  name: K,
  input: CallInput<K>,
  options: Options = {},
): Promise<Reply<K>> {
  const reply = await send(name, input as Parts, options);
  if (reply.status === 204) return null as Reply<K>;
  const body = (await reply.json()) as Reply<K>;
  const tag = reply.headers.get("etag");
  if (tag !== null && !name.startsWith("POST ")) rememberTag(addressOf(name, input as Parts), body, tag);
  return body;
}

/** Calls an operation, and also returns the ETag of the resource for `If-Match` of a change. */
export async function callTagged<K extends Call>(
  name: K,
  input: CallInput<K>,
): Promise<{ reply: Reply<K>; etag: string | null }> {
  const reply = await send(name, input as Parts, {});
  return { reply: (await reply.json()) as Reply<K>, etag: reply.headers.get("etag") };
}

/** A response as a file. The browser keeps a large one outside the page's memory. */
export async function fetchFile<K extends Call>(
  name: K,
  input: CallInput<K>,
  signal: AbortSignal,
): Promise<Blob> {
  return (await send(name, input as Parts, { signal })).blob();
}

/** Returns the first `bytes` of a response as text, and whether that is all of it. The rest isn't fetched. */
export async function readStart<K extends Call>(
  name: K,
  input: CallInput<K>,
  { bytes, signal }: { bytes: number; signal: AbortSignal },
): Promise<{ text: string; isWhole: boolean }> {
  const reply = await send(name, input as Parts, { signal });
  const reader = reply.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let room = bytes;
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value.subarray(0, room), { stream: true });
    room -= value.length;
    if (room < 0) {
      await reader.cancel();
      return { text, isWhole: false };
    }
  }
  return { text: text + decoder.decode(), isWhole: true };
}

/** A message of server-sent events. */
export interface Message {
  event: string;
  id: string | null;
  data: unknown;
}

/** Last message of a stream of chunks, the event `done`: the stream is complete. */
const LAST = "[DONE]";

/**
 * Follows a stream of server-sent events until it ends or `signal` aborts. `onOpen` is called once it is connected.
 */
export async function* follow<K extends Call>(
  name: K,
  input: CallInput<K>,
  options: Options & { lastEventId?: string | null; onOpen?: () => void },
): AsyncGenerator<Message> {
  const headers = {
    ...options.headers,
    ...(options.lastEventId ? { "last-event-id": options.lastEventId } : {}),
  };
  const reply = await send(name, input as Parts, { ...options, headers });
  options.onOpen?.();
  if (!reply.body) return;
  for await (const { event, id, data } of readEvents(reply.body)) {
    if (data === LAST) yield { event: "done", id, data: null };
    else yield { event, id, data: JSON.parse(data) };
  }
}

/** Submits the answers of a form. Throws `ApiError`. */
export async function sendForm(path: string, answers: unknown): Promise<void> {
  const headers = { "content-type": "application/json" };
  const reply = await fetch(path, { method: "POST", headers, body: JSON.stringify(answers) }).catch(() => {
    throw new ApiError(0, { detail: noReply(), code: "unreachable" }, null);
  });
  if (reply.ok) return;
  const body: unknown = await reply.json().catch(() => null);
  throw new ApiError(reply.status, body, reply.headers.get("x-correlation-id"));
}

/** Response to a test webhook request. */
export interface Answer {
  status: number;
  text: string;
  durationSeconds: number;
}

/** Sends `body` to a path of this host outside the API, such as an automation's webhook. */
export async function post(path: string, body: string, headers: Record<string, string>): Promise<Answer> {
  const started = performance.now();
  const reply = await fetch(path, { method: "POST", body, headers, credentials: "omit" });
  const text = await reply.text();
  return { status: reply.status, text, durationSeconds: (performance.now() - started) / 1000 };
}
