import type { Static, TNull, TObject, TSchema, TVoid } from "@sinclair/typebox";
import type { AppError, Fault } from "../base/errors.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { App, Context, WriteContext } from "../context.ts";
import type { Role } from "../resources/organizations/table.ts";
import type { Identity } from "./identity.ts";

/** `any`: any signed-in user, whatever the role. `operator`: administers the installation. Documented as `x-role`. */
type Audience = "public" | "signature" | "any" | "operator" | Role;

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Origin of a request, as far as the operator's proxies can be trusted. */
export interface Visit {
  readonly request: Request;
  /** Without the base path. */
  readonly url: URL;
  /** The base path, such as `/weir`; "" for none. */
  readonly base: string;
  readonly address: string;
  readonly isSecure: boolean;
  readonly userAgent: string | null;
  readonly correlationId: string;
  /** Allows a stream to be silent longer than the server's idle limit. */
  keepOpen(): void;
  /** Aborts when streams must end because the process stops. */
  readonly closing: AbortSignal;
  /** Whether the credentials still grant access. Set once they did. */
  isStillAdmitted?: () => Promise<boolean>;
  /** What is left of the rate limit that the request counts against. Set once it was counted. */
  quota?: { limit: number; remaining: number; resetSeconds: number };
}

/** A response with more than a JSON body. */
export class Reply {
  readonly status: number;
  readonly body: unknown;
  /** A header that is repeated has a list of values. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The error that an error page shows. */
  readonly error: AppError | null;
  /** `body` is JSON, a stream, a Blob, or null. */
  constructor(
    status: number,
    body: unknown,
    headers: Readonly<Record<string, string | readonly string[]>> = {},
    error: AppError | null = null,
  ) {
    this.status = status;
    this.error = error;
    this.body = body;
    this.headers = headers;
  }
}

/** No fields. */
type None = TObject<Record<never, never>>;

interface Shapes<P extends TObject, Q extends TObject, B extends TSchema> {
  params: P;
  query: Q;
  body: B;
}

interface Given<P extends TObject, Q extends TObject, B extends TSchema> {
  app: App;
  visit: Visit;
  params: Static<P>;
  query: Static<Q>;
  body: Static<B>;
}

/** Input that is known to have errors. */
interface Further {
  ctx: Context;
  visit: Visit;
  /** Not validated. */
  params: Readonly<Record<string, string>>;
  /** The raw body; without fields if it isn't an object. */
  raw: JsonObject;
}

/** Description and handler of an HTTP operation. The OpenAPI document is generated from these. */
export interface Operation {
  readonly method: Method;
  /** As in the interface, for example `/api/v1/connections/{connection_id}`. */
  readonly path: string;
  readonly audience: Audience;
  readonly tag: string;
  readonly summary: string;
  /** Details that the summary has no room for, for the OpenAPI document. */
  readonly description?: string;
  readonly params?: TObject;
  readonly query?: TObject;
  /** If absent, a JSON body has no fields, unless the operation `consumes` it. */
  readonly body?: TSchema;
  /** Follows RFC 6749: accepts `body` as a form too, ignores unknown fields, and returns errors as `OAuthError`. */
  readonly oauth?: boolean;
  /**
   * Follows Iceberg's REST catalog: uses its error format, accepts API keys as bearer tokens,
   * and serves the organization that the URL names, if any.
   */
  readonly iceberg?: {
    readonly organizationOf: (visit: Visit) => string | null;
  };
  /** Headers that it reads beyond those of all such operations: names of the OpenAPI document's parameters. */
  readonly headers?: readonly ("LastEventId" | "UserTimezone")[];
  /** Path of the resource that `If-Match` applies to, if it isn't the operation's own. */
  readonly guards?: string;
  /** True if the JSON body can be omitted. */
  readonly bodyOptional?: boolean;
  /** True if the body is mostly data, which can have more values than other bodies, and no templates. */
  readonly takesData?: boolean;
  /** True if the body can contain long lists, and so more values than other bodies. */
  readonly takesLists?: boolean;
  /** True if numbers of the body that are beyond doubles become `NumberText` instead of text. */
  readonly keepsNumbers?: boolean;
  /** True if the body has definitions: numbers beyond doubles among SQL parameters become `{"$number": …}`. */
  readonly hasDefinitions?: boolean;
  /**
   * Returns errors in the raw body, or in the raw query if there is no body, beyond its shape. Reported together with
   * those of the shape.
   */
  readonly faults?: (app: App, raw: Json, ctx: Context | null) => Fault[] | Promise<Fault[]>;
  /** As `faults`, but only called if there are other errors. Without any, the handler checks the same and throws. */
  readonly furtherFaults?: (further: Further) => Fault[] | Promise<Fault[]>;
  /** Shape of the success body. Absent for streams and responses without a body. */
  readonly response?: TSchema;
  /** Media type of a success body other than JSON, such as `text/event-stream`. */
  readonly produces?: string;
  /** Further media types of the success body. */
  readonly alsoProduces?: readonly string[];
  /** Media type of a request body that the handler reads itself, such as `application/octet-stream`. */
  readonly consumes?: string;
  /** Status of success. Default: 200. */
  readonly status?: number;
  /**
   * Accepts `Idempotency-Key`: the work and its reply, encrypted if it contains a secret,
   * are stored in one transaction. `batched` work has transactions of its own, and its reply is stored after them.
   * `batched-sealed` combines both.
   */
  readonly idempotent?: boolean | "sealed" | "batched" | "batched-sealed";
  /** Concerns a user. API keys can't use it. */
  readonly personal?: boolean;
  /** True for decisions of people. API keys are rejected. */
  readonly byPeople?: boolean;
  /**
   * Rejects requests from other sites' pages, whatever their credentials.
   * Default: public operations that change something.
   */
  readonly ownPagesOnly?: boolean;
  /** Counts against the rate limit per address, in addition to the one per credential. */
  readonly limited?: "address";
  /** Returns whether a visit is exempt from the rate limit per address. The handler then enforces its own limit. */
  readonly unlimitedFor?: (app: App, visit: Visit) => Promise<boolean>;
  /** Further authentication challenges of a 401, besides `Bearer`. */
  readonly challenge?: (app: App) => string;
  /** Rejects a browser's session that signed in over an hour ago, with 401 `sign_in_again`. */
  readonly freshSignIn?: boolean;
  /** Error statuses in addition to those of every operation, for the OpenAPI document. */
  readonly errors?: readonly number[];
  /** Responses whose body is neither `response` nor a problem, by status, for the OpenAPI document. */
  readonly replies?: Readonly<Record<number, { description: string; body?: TSchema; example?: unknown }>>;
  /** Example of the success body. Generated from the shape if absent. */
  readonly example?: unknown;
  /** Example of the request body. Generated from the required fields if absent. */
  readonly bodyExample?: unknown;
  readonly handle: (input: never) => Promise<unknown>;
}

/** What clients know about an operation, as types only: its path, input and response. */
interface Typed<Key extends string, P, Q, B, R> {
  readonly "~types"?: { key: Key; path: P; query: Q; body: B; reply: R };
}

/** An operation as defined in its routes, with the types of its handler's input. */
type Described<
  M extends Method,
  A extends string,
  P extends TObject,
  Q extends TObject,
  B extends TSchema,
  R extends TSchema,
> = Omit<
  Operation,
  "method" | "path" | "handle" | "audience" | "params" | "query" | "body" | "response" | "idempotent"
> &
  Partial<Shapes<P, Q, B>> & { method: M; path: A; response?: R };

/** An operation for members of an organization. Only operations with a role get a `ctx`. */
export function operation<
  const M extends Method,
  const A extends string,
  P extends TObject = None,
  Q extends TObject = None,
  B extends TSchema = TVoid,
  R extends TSchema = TNull,
>(
  described: Described<M, A, P, Q, B, R> & {
    audience: Role | "any" | "operator";
    idempotent?: false | "batched" | "batched-sealed";
    handle(input: Given<P, Q, B> & { ctx: Context; identity: Identity }): Promise<unknown>;
  },
): Operation & Typed<`${M} ${A}`, P, Q, B, R>;
/** An operation that accepts an idempotency key runs in a transaction, without network calls. */
export function operation<
  const M extends Method,
  const A extends string,
  P extends TObject = None,
  Q extends TObject = None,
  B extends TSchema = TVoid,
  R extends TSchema = TNull,
>(
  described: Described<M, A, P, Q, B, R> & {
    audience: Role | "any" | "operator";
    idempotent: true | "sealed";
    handle(input: Given<P, Q, B> & { ctx: WriteContext; identity: Identity }): Promise<unknown>;
  },
): Operation & Typed<`${M} ${A}`, P, Q, B, R>;
export function operation(described: object): Operation {
  return described as Operation;
}

/** An operation without credentials. It has no `ctx`, and so no access to an organization's data. */
export const openOperation = <
  const M extends Method,
  const A extends string,
  P extends TObject = None,
  Q extends TObject = None,
  B extends TSchema = TVoid,
  R extends TSchema = TNull,
>(
  described: Described<M, A, P, Q, B, R> & {
    audience: "public" | "signature";
    handle(input: Given<P, Q, B>): Promise<unknown>;
  },
): Operation & Typed<`${M} ${A}`, P, Q, B, R> => described as unknown as Operation;
