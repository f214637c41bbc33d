import { AppError } from "../../base/errors.ts";
import { hideSecrets, withoutSecrets } from "../../base/hide.ts";
import { canonicalJson, type JsonObject } from "../../base/json.ts";
import { measure } from "../../base/measure.ts";
import { checkArguments, checkEndpointArguments } from "../../catalog/arguments.ts";
import type { Authority, CatalogUse } from "../../catalog/contract.ts";
import { requestOf } from "../../catalog/request.ts";
import { withoutUnseen } from "../../catalog/tools.ts";
import { openMcp } from "../../mcp/client.ts";
import { declineAll, type Question } from "../../mcp/questions.ts";
import { failureText, readResult } from "../../mcp/result.ts";
import type { DecisionRequest, RunContext } from "../contract.ts";
import { byOf, type CallResult, type HttpOutput, makeResult, search } from "./result.ts";
import { type Access, accessOf, authorityOf, type Outbox, sender, startOf } from "./send.ts";

const DEFAULT_MAX_BYTES = 10 * 1024 * 1024;
const MAX_APPROVED_CHARACTERS = 65_536;

/** What can differ from call to call. */
export interface CallOptions {
  expectStatus?: number[];
  followRedirects?: boolean;
  responseExtract?: string;
  maxBytes?: number;
  /** Whether a failure of the API is returned as the result, for a model or a test. */
  tellsFailures?: boolean;
  /** Answers to forms of an MCP server, by the question's hash. Omitted if nobody can be asked. */
  answers?: ReadonlyMap<string, JsonObject> | undefined;
  /** Makes the call of a tool that may not be called twice. */
  once?: RunContext["once"] | undefined;
  /** Whether only the definition with the fingerprint in `use` may be called, even if it changes at this moment. */
  isHeld?: boolean;
}

const nameOf = ({ target }: CatalogUse) =>
  target.kind === "endpoint" ? target.endpoint.name : target.tool.upstreamName;

/** Throws `definition_invalid` for arguments that the endpoint or tool doesn't accept. */
export function checkInput(use: CatalogUse, input: JsonObject): void {
  const { target } = use;
  if (target.kind === "endpoint") return checkEndpointArguments(target.endpoint, input);
  try {
    checkArguments(target.tool.inputSchema, input, nameOf(use));
  } catch (error) {
    // a server's schema may use keywords that Weir's validator doesn't support; the server validates too
    const isOurs = error instanceof AppError && error.details === null;
    if (!isOurs) throw error;
  }
}

/** What an approval covers: this call with these arguments, and nothing else. */
export const callHash = (use: CatalogUse, input: JsonObject): string =>
  Bun.SHA256.hash(canonicalJson({ fingerprint: use.fingerprint, input }), "hex");

/** Returns the approval request for a call. Throws `definition_invalid` for arguments that can't be shown. */
export function approvalOf(use: CatalogUse, input: JsonObject): DecisionRequest {
  const { target, apiId, apiName } = use;
  if (measure(input, MAX_APPROVED_CHARACTERS) > MAX_APPROVED_CHARACTERS) {
    const message = `The arguments are too long to be approved: more than ${MAX_APPROVED_CHARACTERS} characters.`;
    throw new AppError("definition_invalid", message);
  }
  const where: JsonObject =
    target.kind === "endpoint"
      ? {
          endpoint: target.endpoint.name,
          method: target.endpoint.method,
          path: target.endpoint.path,
          baseUrl: target.baseUrl,
        }
      : { tool: target.tool.upstreamName, url: target.url };
  return {
    title: `Call ${nameOf(use)} of ${apiName}?`.slice(0, 255),
    description: target.kind === "endpoint" ? target.endpoint.description : target.tool.description,
    decisionType: "approve_reject",
    formSchema: null,
    context: { apiId, api: apiName, ...where, arguments: input, hash: callHash(use, input) },
    assignedTo: null,
    expiresInSeconds: null,
    onReject: "fail",
    onExpire: "fail",
  };
}

/** Returns the request for input if an MCP server requests a form. The call is repeated with the answer. */
export function formOf({ apiId, apiName, target }: CatalogUse, question: Question): DecisionRequest {
  const tool = target.kind === "tool" ? target.tool.upstreamName : null;
  return {
    title: `${tool} of ${apiName} asks for input`.slice(0, 255),
    description: question.message || null,
    decisionType: "form_input",
    formSchema: question.schema,
    context: { apiId, api: apiName, tool, question: question.hash },
    assignedTo: null,
    expiresInSeconds: null,
    onReject: "fail",
    onExpire: "fail",
  };
}

/**
 * Makes the call. Throws the same as the sender and the MCP client, including `Unanswered`. Credentials never appear in
 * messages.
 */
export async function callApi(
  outbox: Outbox,
  use: CatalogUse,
  input: JsonObject,
  options: CallOptions = {},
): Promise<HttpOutput> {
  const access = use.connection && accessOf(use.connection);
  const secrets = () => (access ?? use.signIn)?.secrets() ?? [];
  try {
    if (use.target.kind === "endpoint") return await callEndpoint(outbox, access, use.target, input, options);
    return { result: await callTool(outbox, { access, use }, use.target, input, options) };
  } catch (error) {
    throw withoutSecrets(error, secrets());
  }
}

type Target<K> = Extract<CatalogUse["target"], { kind: K }>;

async function callEndpoint(
  outbox: Outbox,
  access: Access | null,
  { endpoint, baseUrl }: Target<"endpoint">,
  input: JsonObject,
  { expectStatus, followRedirects, responseExtract, maxBytes, tellsFailures = false }: CallOptions,
): Promise<HttpOutput> {
  const { body, parts, ...request } = requestOf(endpoint, baseUrl, input);
  const definition = {
    ...request,
    ...(body === undefined ? {} : { body }),
    ...(parts === undefined ? {} : { parts }),
    ...(expectStatus || tellsFailures ? { expectStatus: expectStatus ?? ALL_STATUSES } : {}),
    ...(followRedirects === undefined ? {} : { followRedirects }),
  };
  const start = startOf(definition, access);
  const reply = await sender(outbox, definition, access)(start, 1, maxBytes ?? DEFAULT_MAX_BYTES);
  const expression = responseExtract ?? endpoint.responseExtract;
  const isGood = reply.status < 400;
  const work = {
    status: reply.status,
    headers: reply.headers,
    isPaged: false,
    itemsPath: null,
    responseExtract: isGood ? expression : null,
    secrets: [...(access?.secrets() ?? [])],
  };
  return makeResult(byOf(outbox), work, [reply]);
}

const ALL_STATUSES = Array.from({ length: 400 }, (_, index) => index + 200);

async function callTool(
  outbox: Outbox,
  { access, use }: { access: Access | null; use: CatalogUse },
  { url, transport }: Target<"tool">,
  input: JsonObject,
  { responseExtract, answers, tellsFailures = false, isHeld = false, once }: CallOptions,
): Promise<CallResult> {
  if (access && new URL(access.baseUrl).origin !== new URL(url).origin) {
    const message = `The connection's credentials are sent only to ${new URL(access.baseUrl).host}, not to ${new URL(url).host}.`;
    throw new AppError("definition_invalid", message);
  }
  const { egress, signal } = outbox;
  const authority: Authority | null = access ? authorityOf(access) : use.signIn;
  const answer = answers ? ({ hash }: Question) => answers.get(hash) ?? "unanswered" : declineAll;
  const client = await openMcp({ url, transport, egress, signal, authority, answer });
  try {
    const tool = await use.verify((await client.listTools()).tools, isHeld);
    const call = () => client.callTool(tool, input);
    const result = readResult(await (once ? once.make(call) : call()));
    const declined = client.declined.join(" ");
    if (declined !== "") outbox.log("warn", declined);
    if (result.omitted.length > 0)
      outbox.log(
        "warn",
        `${tool.upstreamName} also returned parts that aren't in the result: ${withoutUnseen(result.omitted.slice(0, 10).join(", ")).slice(0, 200)}.`,
      );
    outbox.log(result.isError ? "warn" : "info", `${tool.upstreamName} returned ${result.bytes} bytes.`);
    if (result.isError && !tellsFailures) {
      const text = `The tool ${tool.upstreamName} failed: ${failureText(result)}`;
      throw new AppError("upstream", declined === "" ? text : `${text} ${declined}`);
    }
    const { body, bytes, truncated, isError } = result;
    const headers: Record<string, string> = declined === "" ? {} : { declined };
    const secrets = [...((access ?? use.signIn)?.secrets() ?? [])];
    const hidden = hideSecrets({ headers, body }, secrets);
    const extracted = isError ? null : await search(byOf(outbox), hidden.body, responseExtract ?? null);
    return { status: isError ? 500 : 200, ...hidden, extracted, pages: 1, bytes, truncated };
  } finally {
    await client.close();
  }
}
