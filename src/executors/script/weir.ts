import { AppError } from "../../base/errors.ts";
import { isObject, type Json } from "../../base/json.ts";
import { openSemaphore } from "../../base/semaphore.ts";
import { read } from "../../base/shape.ts";
import { mapInSlices } from "../../base/slices.ts";
import type { LakeRead } from "../../lake/contract.ts";
import { readsOf } from "../../lake/reads.ts";
import { lakeJob } from "../../lake/views.ts";
import type { Provider } from "../../providers/contract.ts";
import type { JsonBytes, WeirFunction } from "../../scripts/contract.ts";
import type { RunContext } from "../contract.ts";
import { Definition, definitionFaults, type Request } from "../http/definition.ts";
import { request } from "../http/request.ts";

const MAX_ROWS = 100_000;
const MAX_REPLY_BYTES = 10 * 1024 * 1024;
/** Maximum number of concurrent calls of one script: each can have a long response. */
const CALLS_AT_ONCE = 8;

/** What a script can access. */
export interface Grants {
  sql: boolean;
  connections: readonly string[];
}

/** The functions of `weir`, each with the rules of the corresponding kind. */
export interface Weir {
  /** Throws `AppError` for the script, and the signal by which the run waits for an approval. */
  call(name: WeirFunction, args: readonly Json[], signal: AbortSignal): Promise<JsonBytes>;
  /** Tables that the script's SQL has read. */
  reads(): LakeRead[];
  /** Whether a call failed for a reason that may be temporary. */
  mayRecover(): boolean;
}

/** Why a connection can't be granted to a script. */
export const withoutHttp = ({ id }: Provider): string =>
  `Scripts send HTTP requests, and connections of ${id} don't support them.`;

/** Opens all granted connections first, so that a script fails before it has changed anything. */
export async function openWeir(ctx: RunContext, { sql, connections }: Grants): Promise<Weir> {
  for (const id of connections) {
    const { provider } = await ctx.openConnection(id, "read");
    if (!provider.http) throw new AppError("definition_invalid", withoutHttp(provider));
  }
  const semaphore = openSemaphore(CALLS_AT_ONCE);
  const tables = sql ? await ctx.lake.tables() : [];
  let canWrite: Promise<unknown> | null = null;
  let isRecoverable = false;
  let requests = 0;
  const statements = new Set<string>();

  /**
   * Requests all approvals before the first change, since the script runs again from the beginning after an approval.
   */
  const openForWriting = () => {
    canWrite ??= Promise.all(connections.map((id) => ctx.openConnection(id, "write")));
    return canWrite;
  };

  const query = async ([text, parameters]: readonly Json[], signal: AbortSignal): Promise<JsonBytes> => {
    if (!sql) throw new AppError("forbidden", "weir.sql is not granted. Set grants.sql to true.");
    if (typeof text !== "string")
      throw new AppError("sql_error", "weir.sql(text, parameters): text is a string.");
    if (parameters !== null && !isObject(parameters))
      throw new AppError("sql_error", "weir.sql(text, parameters): parameters is an object.");
    const { job } = await lakeJob(ctx.lake, tables, text, parameters ?? {});
    statements.add(text);
    const { json, truncated } = await ctx.sql.queryText({ ...job, signal }, MAX_ROWS);
    if (truncated)
      throw new AppError(
        "limit_exceeded",
        "The SQL returns too many rows for a script. Add a LIMIT, or aggregate.",
      );
    return mapInSlices(json, (text) => Buffer.from(text));
  };

  const send = async ([id, input]: readonly Json[], signal: AbortSignal): Promise<JsonBytes> => {
    if (typeof id !== "string" || !connections.includes(id))
      throw new AppError("forbidden", `Connection ${id} is not granted. Add its id to grants.connections.`);
    const definition = requestOf(input);
    const from: RunContext = {
      ...ctx,
      signal,
      // idempotency keys are the same in each attempt, and differ between requests
      run: { ...ctx.run, key: `${ctx.run.key ?? ctx.run.id}-s${++requests}` },
      hasConnection: true,
      async connection(purpose) {
        if (purpose === "write") await openForWriting();
        return ctx.openConnection(id, purpose);
      },
    };
    const { result, whole } = await request(from, definition);
    return [whole?.json ?? Buffer.from(JSON.stringify(result))];
  };

  return {
    async call(name, args, signal) {
      const leave = await semaphore.enter(signal);
      try {
        return await (name === "sql" ? query(args, signal) : send(args, signal));
      } catch (error) {
        isRecoverable ||= error instanceof AppError && error.retryable;
        throw error;
      } finally {
        leave();
      }
    },
    reads: () => readsOf([...statements].join(";\n"), tables),
    mayRecover: () => isRecoverable,
  };
}

/** Returns the request of a `weir.http` call. Throws `definition_invalid` with all errors. */
function requestOf(request: Json | undefined): Request {
  const { value, faults } = read(Definition, request, ["request"]);
  const more = faults.length === 0 ? definitionFaults(value) : [];
  const violations = [
    ...faults.map(({ loc, msg }) => ({ field: loc.join("."), msg })),
    ...more.map(({ path, message }) => ({ field: ["request", ...path].join("."), msg: message })),
  ];
  if (violations.length === 0) {
    if (value.api) violations.push({ field: "request.api", msg: "Scripts send requests by url" });
    if (value.batch) violations.push({ field: "request.batch", msg: "Scripts send one request at a time" });
    if (value.bodyType === "multipart")
      violations.push({ field: "request.bodyType", msg: "Scripts send json, form or text" });
    if (value.url === undefined) violations.push({ field: "request.url", msg: "Field required" });
    if ((value.maxBytes ?? 0) > MAX_REPLY_BYTES)
      violations.push({ field: "request.maxBytes", msg: `At most ${MAX_REPLY_BYTES} for a script` });
  }
  const { url, bodyType, api: _, batch: __, ...rest } = value;
  if (violations.length > 0 || url === undefined || bodyType === "multipart")
    throw new AppError(
      "definition_invalid",
      violations.map(({ field, msg }) => `${field}: ${msg}`).join("; "),
    );
  return { ...rest, url, ...(bodyType === undefined ? {} : { bodyType }) };
}
