import type { Static, TNull, TObject, TSchema, TVoid } from "@sinclair/typebox";
import type { AppError, Fault } from "../base/errors.ts";
import type { Json } from "../base/json.ts";
import type { App, Context, WriteContext } from "../context.ts";
import type { Role } from "../resources/organizations/table.ts";
import type { Identity } from "./identity.ts";

/**
 * `any`: whoever is signed in, whatever the role; `operator`: who stands above organizations. Named in the document as
 * `x-role`.
 */
type Audience = "public" | "signature" | "any" | "operator" | Role;

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Where a request comes from, as far as the operator's proxies can be trusted. */
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
  /** Lets a stream stay silent longer than the server's idle limit. */
  keepOpen(): void;
  /** Aborts when the process has no more time for those who follow something. */
  readonly closing: AbortSignal;
  /** Whether the credentials still open what they opened at first; set once they did. */
  isStillAdmitted?: () => Promise<boolean>;
  /** What is left of the limit that the request counts against; set once it was counted. */
  quota?: { limit: number; remaining: number; resetSeconds: number };
}

/** A reply with more than a JSON body. */
export class Reply {
  readonly status: number;
  readonly body: unknown;
  /** A list where a name stands several times. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The failure that the body is about, if it is an error page. */
  readonly error: AppError | null;
  /** `body` is JSON unless it is a stream, a Blob, or null for none. */
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

/** Description and handler of an HTTP operation. The OpenAPI document is generated from these. */
export interface Operation {
  readonly method: Method;
  /** As in the interface: `/api/v1/connections/{connection_id}`. */
  readonly path: string;
  readonly audience: Audience;
  readonly tag: string;
  readonly summary: string;
  /** What the summary can't say in one line, for the document. */
  readonly description?: string;
  readonly params?: TObject;
  readonly query?: TObject;
  /** Absent: a JSON body has no fields, unless the operation `consumes` it. */
  readonly body?: TSchema;
  /** Speaks as RFC 6749 does: takes `body` as a form too, passes over fields it doesn't know, and fails as `OAuthError`. */
  readonly oauth?: boolean;
  /**
   * Speaks as Iceberg's REST catalog does: fails in its shape, takes API keys as bearer tokens, and answers for the
   * organization that its address names, if any.
   */
  readonly iceberg?: {
    readonly organizationOf: (visit: Visit) => string | null;
  };
  /** The path of the thing that `If-Match` is about, where it is not the operation's own. */
  readonly guards?: string;
  /** True where the JSON body may be absent altogether. */
  readonly bodyOptional?: boolean;
  /** True where the body is mostly data, which may have more values than others, and no templates. */
  readonly takesData?: boolean;
  /** True where the body may hold long lists, and so more values than others. */
  readonly takesLists?: boolean;
  /** What is wrong with the raw body beyond its shape, told together with the faults of the shape. */
  readonly faults?: (app: App, raw: Json, ctx: Context | null) => Fault[] | Promise<Fault[]>;
  /** The shape of the success body; absent for none or for streams. */
  readonly response?: TSchema;
  /** Media type of a success body that is not JSON, such as `text/event-stream`. */
  readonly produces?: string;
  /** Media types that the success body may have besides JSON. */
  readonly alsoProduces?: readonly string[];
  /** Media type of a request body that the handler reads itself, such as `application/octet-stream`. */
  readonly consumes?: string;
  /** Of success; 200 where absent. */
  readonly status?: number;
  /**
   * Takes `Idempotency-Key`: the work and its reply, sealed where it holds a secret, are stored in one transaction.
   * `batched` work has transactions of its own, and its reply is stored after them; `batched-sealed` is both.
   */
  readonly idempotent?: boolean | "sealed" | "batched" | "batched-sealed";
  /** Is about a person; API keys can't use it. */
  readonly personal?: boolean;
  /** True for what a person decides: API keys are refused. */
  readonly byPeople?: boolean;
  /** Refuses what another site's page sends, whatever credentials come with it. By default, public ones that change something. */
  readonly ownPagesOnly?: boolean;
  /** Counts against the limit for each address, besides the one for each credential where there is one. */
  readonly limited?: "address";
  /** Lets a visit be that the limit for each address is not for; its own limit is then the handler's. */
  readonly unlimitedFor?: (app: App, visit: Visit) => Promise<boolean>;
  /** What a 401 says of how to sign in, besides `Bearer`. */
  readonly challenge?: (app: App) => string;
  /** Refuses a browser's session whose last sign-in is over an hour ago: 401 `sign_in_again`. */
  readonly freshSignIn?: boolean;
  /** Error codes beyond those that every operation may give, for the document. */
  readonly errors?: readonly number[];
  /** Replies whose body is neither `response` nor a problem, by status, for the document. */
  readonly replies?: Readonly<Record<number, { description: string; body?: TSchema; example?: unknown }>>;
  /** Of the success body; one that fits the shape is made up where absent. */
  readonly example?: unknown;
  /** Of the request body; its required fields are made up where absent. */
  readonly bodyExample?: unknown;
  readonly handle: (input: never) => Promise<unknown>;
}

/** What a client may know of an operation, as types alone: its address, what it takes and what it replies. */
interface Typed<Key extends string, P, Q, B, R> {
  readonly "~types"?: { key: Key; path: P; query: Q; body: B; reply: R };
}

/** An operation as defined in its routes: the handler gets the types of its input. */
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

/** An operation for members of an organization: only with a role is there a `ctx`. */
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
/** One that takes an idempotency key runs in a transaction: no network calls in it. */
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

/** An operation that needs no credentials: it has no `ctx`, and so no way to an organization's data. */
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
