import { ERROR_CODES, type ErrorMeaning } from "../../base/error-codes.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Described } from "./described.ts";

const correlationId = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

/** The two bodies of errors (docs/decisions/http-conventions.md). */
export const bodies: JsonObject = {
  ValidationError: {
    type: "object",
    description: "All invalid fields of the input.",
    required: ["detail"],
    properties: {
      detail: {
        type: "array",
        items: {
          type: "object",
          required: ["loc", "msg", "type"],
          properties: {
            loc: {
              type: "array",
              items: { type: "string" },
              description:
                "Location of the field: `body`, `query`, `path`, `header` or `cookie`, then names and indexes.",
            },
            msg: { type: "string", description: "Human-readable description of the error." },
            type: { type: "string", description: "Machine-readable type of the error." },
          },
        },
      },
    },
  },
  Problem: {
    type: "object",
    description: "Any other error.",
    required: ["detail", "code", "correlationId"],
    properties: {
      detail: { type: "string", description: "Human-readable description of the error." },
      code: { type: "string", description: "Stable, machine-readable error code." },
      correlationId: {
        type: "string",
        description: "Identifies the request in the server log and in events.",
      },
    },
  },
};

interface Known {
  name: string;
  description: string;
  code: string;
  detail: string;
  header?: { name: string; description: string };
}

/** Each status with one of its errors as the example. */
const KNOWN: Readonly<Record<number, Known>> = {
  400: {
    name: "BadRequest",
    description: "The request can't be read.",
    code: "bad_request",
    detail: "A request must have exactly one Host header.",
  },
  401: {
    name: "Unauthenticated",
    description: "Missing or invalid credentials.",
    code: "unauthenticated",
    detail: "Invalid access token. It may have expired or been revoked.",
    header: { name: "WWW-Authenticate", description: "`Bearer`." },
  },
  403: {
    name: "Forbidden",
    description: "Insufficient permissions.",
    code: "forbidden",
    detail: "Requires the member role. Your role is viewer.",
  },
  404: {
    name: "NotFound",
    description: "Not found in this organization.",
    code: "not_found",
    detail: "Run not found.",
  },
  408: {
    name: "RequestTimeout",
    description: "The request body arrived too slowly.",
    code: "request_timeout",
    detail: "The request body didn't arrive within 30 seconds.",
  },
  409: {
    name: "Conflict",
    description: "Conflicts with the current state.",
    code: "invalid_state",
    detail: "This run has already finished: it is completed.",
  },
  412: {
    name: "ChangedMeanwhile",
    description: "The resource doesn't match `If-Match`.",
    code: "changed_meanwhile",
    detail: "This was changed since you read it. Read it again and repeat your change.",
  },
  410: {
    name: "Gone",
    description: "No longer available.",
    code: "cursor_expired",
    detail: "This cursor has expired. Start again without a cursor.",
  },
  413: {
    name: "PayloadTooLarge",
    description: "Request body too large.",
    code: "payload_too_large",
    detail: "Request body too large. The limit is 10 MiB.",
  },
  415: {
    name: "UnsupportedMediaType",
    description: "Unsupported content type or encoding.",
    code: "unsupported_media_type",
    detail: "Unsupported content type: text/xml. Use application/json.",
  },
  416: {
    name: "RangeNotSatisfiable",
    description: "Range beyond the end of the content.",
    code: "range_not_satisfiable",
    detail: "Range beyond the end. The content has 1,024 bytes.",
    header: { name: "Content-Range", description: "Size of the content, as `bytes */SIZE`." },
  },
  422: { name: "Unprocessable", description: "Invalid input.", code: "invalid", detail: "" },
  429: {
    name: "RateLimited",
    description: "Too many requests.",
    code: "rate_limited",
    detail: "Too many requests. Try again in 3 seconds.",
    header: { name: "Retry-After", description: "Seconds to wait before the next request." },
  },
  500: {
    name: "Internal",
    description: "Internal server error.",
    code: "internal",
    detail: "Internal error. To find the cause, search the server log for this correlation ID.",
  },
  501: {
    name: "NotAvailable",
    description: "Not available in this version or configuration.",
    code: "not_available",
    detail: "Not available in this version.",
  },
  502: {
    name: "Upstream",
    description: "An external system failed.",
    code: "upstream",
    detail: "The server refused the connection.",
  },
  503: {
    name: "Unavailable",
    description: "Temporarily unavailable.",
    code: "unavailable",
    detail: "The database is unreachable. Try again later.",
  },
  504: {
    name: "UpstreamTimeout",
    description: "An external system didn't respond in time.",
    code: "timeout",
    detail: "The server didn't respond within 15 seconds.",
  },
};

const REFUSED = {
  detail:
    "Connection to 127.0.0.1:80 blocked: private address. To allow it, add 127.0.0.1:80 to WEIR_EGRESS_ALLOW and restart Weir.",
  code: "egress_blocked",
  correlationId,
};
const VALIDATION = { detail: [{ loc: ["body", "name"], msg: "Field required", type: "missing" }] };

/** Codes of errors, each with its status. */
export type ErrorCodes = Readonly<Record<string, number>>;

const VALIDATION_ERROR: JsonObject = { $ref: "#/components/schemas/ValidationError" };
const PROBLEM: JsonObject = { $ref: "#/components/schemas/Problem" };

/** Lists the causes of each code. */
const causesOf = (codes: readonly string[]): string =>
  codes
    .map((code) => `\`${code}\`: ${(ERROR_CODES as Record<string, ErrorMeaning>)[code]?.cause ?? code}`)
    .join("\n");

/** The shared responses, by name. */
export function problems(codes: ErrorCodes): JsonObject {
  const ofStatus = (status: string) =>
    Object.entries(codes)
      .filter(([code, own]) => String(own) === status && code !== "invalid")
      .map(([code]) => code);
  const withCodes = (status: string): JsonObject => ({
    allOf: [
      PROBLEM,
      {
        type: "object",
        properties: {
          code: { type: "string", enum: ofStatus(status), description: causesOf(ofStatus(status)) },
        },
      },
    ],
  });
  const responses = Object.entries(KNOWN).map(([status, { name, description, code, detail, header }]) => [
    name,
    {
      description,
      ...(header
        ? { headers: { [header.name]: { description: header.description, schema: { type: "string" } } } }
        : {}),
      ...json(
        status === "422"
          ? { schema: VALIDATION_ERROR, example: VALIDATION }
          : { schema: withCodes(status), example: { detail, code, correlationId } },
      ),
    },
  ]);
  return {
    NotModified: NOT_MODIFIED,
    ...Object.fromEntries(responses),
    UnprocessableOrRefused: {
      description: "Invalid input, or a blocked address.",
      ...json({
        schema: { anyOf: [VALIDATION_ERROR, withCodes("422")] },
        examples: {
          invalid: { summary: "A field is invalid.", value: VALIDATION },
          refused: { summary: "The request is invalid for another reason.", value: REFUSED },
        },
      }),
    },
  };
}

const NOT_MODIFIED: JsonObject = {
  description: "The response is still the one with the `ETag` in `If-None-Match`. No body.",
  headers: { ETag: { description: "Of the response.", schema: { type: "string" } } },
};

const json = (content: JsonObject): JsonObject => ({ content: { "application/json": content } });

/** Response of an operation if the caller already has the current version. */
export const unchangedOf = ({ tagged }: Described): JsonObject =>
  tagged ? { 304: { $ref: "#/components/responses/NotModified" } } : {};

/** Returns the errors that an operation can return: its own, and those of its type. */
export function errorsOf(operation: Described): JsonObject {
  const { path, method, audience, params, query, idempotent, limited, matches, errors = [] } = operation;
  const isOpen = audience === "public" || audience === "signature";
  const hasBody = method !== "GET"; // Also if it accepts none, since the body is read to reject it.
  const hasInput = hasBody || params !== undefined || query !== undefined || path.startsWith("/api/v1/");
  const statuses = new Set([
    400,
    ...(isOpen ? [] : [401, 403, 429]),
    ...(audience === "public" && method !== "GET" ? [403] : []),
    ...(limited ? [429] : []),
    ...(path.includes("{") ? [404] : []),
    ...(hasInput ? [422] : []),
    ...(hasBody ? [408, 413, 415] : []),
    ...(idempotent ? [409] : []),
    ...(matches ? [412] : []),
    ...(query !== undefined && "cursor" in query.properties ? [410] : []),
    ...errors,
    500,
    503,
  ]);
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .flatMap((status) => {
        const known = KNOWN[status];
        if (!known) return [];
        const name = status === 422 && errors.includes(502) ? "UnprocessableOrRefused" : known.name;
        return [[status, { $ref: `#/components/responses/${name}` }]];
      }),
  );
}
