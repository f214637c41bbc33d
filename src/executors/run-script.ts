import { Type } from "@sinclair/typebox";
import { AppError } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { writeJson } from "../base/json-write.ts";
import { anything, described, object, oneOf, optional, uuid } from "../base/shape.ts";
import { mapInSlices } from "../base/slices.ts";
import { summaryOf } from "../base/summary.ts";
import type { JsonBytes, ScriptLine, ScriptOutput } from "../scripts/contract.ts";
import { type Done, defineExecutor } from "./contract.ts";
import { openWeir, withoutHttp } from "./script/weir.ts";

/** Outputs up to this size are parsed in the server. */
const MAX_PARSED_BYTES = 1024 * 1024;
const PIECE_CHARACTERS = 1024 * 1024;
const MIB = 1024 * 1024;

const Definition = object({
  source: Type.String({
    minLength: 1,
    maxLength: 262_144,
    contentMediaType: "text/typescript",
    description:
      "TypeScript or JavaScript whose default export is a function of the input and `weir`. Templates in it aren't evaluated",
  }),
  input: optional(described("Input of the script. Default: null", anything())),
  memoryMb: described(
    "Maximum memory of the script, in MiB",
    Type.Integer({ minimum: 8, maximum: 256, default: 64 }),
  ),
  timeoutSeconds: described(
    "Maximum duration in seconds, including its calls",
    Type.Integer({ minimum: 1, maximum: 300, default: 10 }),
  ),
  grants: optional(
    object(
      {
        sql: described(
          "Whether the script can call weir.sql(text, parameters)",
          Type.Boolean({ default: false }),
        ),
        connections: described(
          "IDs of connections that it can use in weir.http(connection, request)",
          Type.Array(uuid(), { maxItems: 20, default: [] }),
        ),
      },
      { description: "What the script can access. Default: nothing" },
    ),
  ),
});

/**
 * Runs a script of the organization in a sandboxed process without files, network or clock.
 *
 * A second attempt runs it again from the beginning. That is safe if its calls are: requests carry the same
 * `Idempotency-Key` in every attempt, and SQL changes nothing.
 */
export const runScript = defineExecutor({
  kind: "run_script",
  inBulk: () => true,
  title: "Script",
  description: "Runs TypeScript or JavaScript in a sandbox that can access only what you grant.",
  providers: [],
  hasEffects: ({ grants }) => {
    const { connections } = (grants ?? {}) as { connections?: Json };
    return Array.isArray(connections) ? connections.length > 0 : connections !== undefined;
  },
  definition: Definition,
  codeFields: ["source"],
  result: object({
    output: anything(),
    logs: Type.Array(object({ level: oneOf(["debug", "info", "warn", "error"]), message: Type.String() })),
    durationSeconds: Type.Number(),
  }),

  connections: ({ grants }) => {
    const { connections } = (grants ?? {}) as { connections?: Json };
    return (Array.isArray(connections) ? connections : []).map((id, index) => ({
      path: ["grants", "connections", String(index)],
      id: String(id),
      refusal: (provider) => (provider.http ? null : withoutHttp(provider)),
    }));
  },

  check({ source }) {
    if (/\bexport\b[^;]*?\bdefault\b/.test(source)) return [];
    return [
      { path: ["source"], message: "A script has a default export: export default (input, weir) => …" },
    ];
  },

  async execute(ctx, { source, input = null, memoryMb = 64, timeoutSeconds = 10, grants }) {
    const { sql = false, connections = [] } = grants ?? {};
    const weir = await openWeir(ctx, { sql, connections });
    const logs: ScriptLine[] = [];
    const inputBytes = await bytesOf(input);
    if (inputBytes.reduce((sum, { length }) => sum + length, 0) > (memoryMb * MIB) / 2)
      throw new AppError("script_memory", "The input alone needs more memory than memoryMb allows.");
    ctx.progress({ phase: "script" });
    const startedAt = ctx.clock.monotonic();
    const work = {
      source,
      input: inputBytes,
      memoryMb,
      timeoutMs: timeoutSeconds * 1000,
      now: Date.parse(typeof ctx.scope.now === "string" ? ctx.scope.now : ctx.run.startedAt),
      seed: inputBytes.reduce((seed, piece) => Bun.hash.crc32(piece, seed), Bun.hash.crc32(source)),
    };
    const host = {
      organizationId: ctx.run.organizationId,
      signal: ctx.signal,
      call: weir.call,
      log(line: ScriptLine) {
        logs.push(line);
        ctx.log(line.level, line.message);
      },
    };
    const output = await ctx.scripts.run(work, host).catch((error: unknown) => {
      throw weir.mayRecover() ? recoverable(error) : error;
    });
    const durationSeconds = Math.round(ctx.clock.monotonic() - startedAt) / 1000;
    return { ...resultOf(output, { logs: logs as unknown as Json[], durationSeconds }), reads: weir.reads() };
  },
});

/** JSON of a value, created in slices between which other work runs. */
async function bytesOf(value: Json): Promise<JsonBytes> {
  const text = await writeJson(value);
  const ranges: (readonly [from: number, to: number])[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = Math.min(from + PIECE_CHARACTERS, text.length);
    const last = text.charCodeAt(to - 1);
    if (last >= 0xd800 && last < 0xdc00) to--; // a lone surrogate
    ranges.push([from, to]);
  }
  return mapInSlices(ranges, ([from, to]) => Buffer.from(text.slice(from, to)));
}

/** A failed call may be retryable. */
function recoverable(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "script_error") return error;
  const { code, message, details } = error;
  return new AppError(code, message, { retryable: true, details: details ?? {} });
}

function resultOf({ json, items }: ScriptOutput, rest: { logs: Json[]; durationSeconds: number }): Done {
  if (json.length <= MAX_PARSED_BYTES) return { result: { output: JSON.parse(json.toString()), ...rest } };
  const { fields, large }: { fields: JsonObject; large: string[] } = summaryOf(rest);
  const output = items === null ? `JSON of ${json.length} bytes` : `list of ${items}`;
  const pieces = ['{"output":', json, `,${JSON.stringify(rest).slice(1)}`];
  const summary = { fields: { output, ...fields }, large: ["output", ...large] };
  return {
    result: summary.fields,
    whole: { json: Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))), summary },
  };
}
